package cycle

import "switchyard.dev/worker/admission/preempt"

// Options are the process-wide settings of a cycle. The zero value is what an empty Configuration asks for; the fields that
// begin with Without close a feature gate that is open by default (contract: kueue-api.md 6, 7).
//
// All but MaxAdmissions must be the same in every cycle on a snapshot.
type Options struct {
	// MaxAdmissions ends the cycle early after so many admissions and preemptions, with Plan.More set; 0 means no limit.
	MaxAdmissions int
	// IgnoreUndeclared skips requested resources that no group of the queue covers, instead of failing the workload
	// (resources.quotaCheckStrategy).
	IgnoreUndeclared bool
	// BlockUntilPodsReady admits no workload while the pods of an admitted one are not ready, and so one workload at a time
	// (waitForPodsReady.blockAdmission; contract: kueue-api.md 4.15).
	BlockUntilPodsReady bool
	// FairSharing makes the queues of a root cohort compete by their shares of what they borrow, in place of borrowing
	// height and rank, and lets the smaller share preempt the greater (fairSharing; contract: kueue-api.md 4.3, 4.8).
	FairSharing bool
	// Strategies are the share tests of preemption under fair sharing; empty means both (fairSharing.preemptionStrategies).
	Strategies []preempt.Strategy
	// PrioritizePreemptors puts workloads that wait for their victims before all others of their cohort tree (gate
	// PrioritizePreemptorWorkloads, closed by default).
	PrioritizePreemptors bool
	// WithoutFungibility takes the first flavor that fits, borrowing or preempting, whatever the queue's
	// flavorFungibility says (gate FlavorFungibility).
	WithoutFungibility bool
	// WithoutPartialAdmission never admits fewer pods than the workload counts (gate PartialAdmission).
	WithoutPartialAdmission bool
	// WithoutPrioritySorting leaves priority out of the order among queues (gate PrioritySortingWithinCohort).
	WithoutPrioritySorting bool
	// WithoutNonBorrowingFirst lets the tournament of fair sharing look at shares only (gate
	// FairSharingPrioritizeNonBorrowing).
	WithoutNonBorrowingFirst bool
	// WithoutNominalBypass makes preemptors within their nominal quota pass the share test, too (gate
	// FairSharingPreemptWithinNominal).
	WithoutNominalBypass bool
}

func (o Options) preemptionOptions() preempt.Options {
	return preempt.Options{
		FairSharing: o.FairSharing, Strategies: o.Strategies, WithinNominal: !o.WithoutNominalBypass,
	}
}
