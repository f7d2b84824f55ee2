package sim

import (
	"fmt"
	"slices"
)

// The names of the invariants. Nothing else can be violated.
const (
	invRunOnce        = "run once never has two epochs of a job running at the same instant"
	invNeverLose      = "never lose never starts a second run, and gives nothing up because it cannot be seen"
	invFence          = "a fence stops only what is stamped so"
	invLease          = "nothing is offered where a fence would stop it"
	invCordon         = "nothing new is offered to a cordoned cluster"
	invDrain          = "a drained cluster is left only for another that can take the workload"
	invSibling        = "siblings are bound to one cluster"
	invNoRerun        = "a job that has run is not made again in its epoch"
	invReady          = "a check is Ready only on the word of the cluster that is bound"
	invOfferTime      = "nobody is hedged against before it had its time with the offer"
	invFirstOfferFits = "the first offer goes to a cluster with room, if one is known"
	invNoUnfitOffer   = "nothing is offered to a cluster that is known not to be able to take it"
	invUnresponsive   = "no offer waits for a cluster that does not answer while another would take it"
	invOrder          = "clusters are nominated in the order that the policy says"
	invHedge          = "whoever does not admit in time is hedged against"

	invPriority        = "a copy has the Workload's priority"
	invResultKept      = "a finished run is a fact"
	invForeign         = "a foreign object is never touched"
	invOneRun          = "a job runs once"
	invGrace           = "a lost cluster is never given up before its grace"
	invProgress        = "after faults heal every workload finishes or waits with a true reason"
	invFixedPoint      = "at a fixed point Step returns the same state and no actions"
	invExclusive       = "clusterName and nominatedClusterNames are mutually exclusive"
	invImmutable       = "clusterName is immutable once set"
	invEpochs          = "epochs never fall"
	invFinishedFinal   = "Finished is absorbing"
	invLosers          = "losers are retracted before the job is created"
	invConnected       = "no action targets a disconnected cluster"
	invRound           = "no cluster is nominated before its round"
	invOneJob          = "no epoch has jobs on two clusters"
	invNoOlderJob      = "no job is created while a reachable cluster may hold an older epoch's job"
	invNoOrphan        = "no remote object outlives its owner"
	invUnseenWork      = "no work is destroyed because it could not be seen"
	invCutOff          = "nothing is retried while the hub is cut off"
	invEnded           = "only a run that has ended is recorded as finished"
	invListed          = "only what the config lists is offered to"
	invStatusShown     = "the hub shows what the worker shows"
	invEviction        = "what the hub evicts stops"
	invNominated       = "when setting clusterName it must be one of the nominatedClusterNames"
	invOtherChecks     = "nothing is offered before the other checks are ready"
	invPreemptionGates = "no two preemption gates are open at a time"
	invQuotaAfterStop  = "the hub has its quota back when the worker has stopped"
	invDeletion        = "what somebody has deleted goes"
	invGoneDeclaration = "a person's word counts only of a cluster that was tried in vain"
	invDrainMessage    = "while a cluster is being drained the check says why a job stays there"
	invPredecessor     = "no job is created while its predecessor was last seen running on a cluster that is lost"
	invUnconfigured    = "a workload that has lost its check or config is not forgotten"
	invRemadeJob       = "a job made anew takes nothing of its predecessor's runs"
	invDebts           = "what is known of a debt is not forgotten before it is settled"
	invLateEpoch       = "no job runs on the strength of a later epoch's offer"
	invScaled          = "a job that is scaled is not stopped for that"
	invPods            = "a job has no more pods than an admitted slice is for"
	invOneSlice        = "one slice has the job at any moment"
	invTakeover        = "a slice takes over all that the one before has recorded"
	invRetained        = "what has finished stays as long as it is retained"
	invRetentionOver   = "nothing that has finished stays longer, nor where it did not run"
	invSliceShown      = "at rest a job has the size and the name that its slice says"
)

// Invariants are the names of all invariants of the model; those of placement alone are RankInvariants.
func Invariants() []string {
	return []string{
		invRunOnce, invNeverLose, invFence, invLease, invCordon, invDrain, invSibling, invFirstOfferFits, invNoUnfitOffer, invUnresponsive, invOrder, invOfferTime, invNoRerun, invReady,
		invHedge, invPriority, invResultKept, invForeign, invOneRun, invGrace, invProgress, invFixedPoint, invExclusive, invImmutable, invEpochs,
		invFinishedFinal, invLosers, invConnected, invRound, invOneJob, invNoOlderJob, invNoOrphan, invUnseenWork, invCutOff, invEnded, invListed,
		invStatusShown, invEviction, invNominated, invOtherChecks, invPreemptionGates, invLateEpoch, invQuotaAfterStop, invDeletion, invRemadeJob, invUnconfigured,
		invGoneDeclaration, invDrainMessage, invPredecessor, invDebts, invScaled, invPods, invOneSlice, invTakeover, invSliceShown,
		invRetained, invRetentionOver,
	}
}

// checkLog counts what was checked and what happened, and keeps the first violation.
type checkLog struct {
	*scene
	// violation is the first invariant that was broken, and how; "" for none.
	violation string
	// checkCounts counts by invariant how often it was put to the test, eventCounts how often an event has happened.
	checkCounts map[string]int
	eventCounts map[Event]int
}

// mustHold puts an invariant to the test.
func (w *checkLog) mustHold(law string, holds bool, format string, args ...any) {
	w.checkCounts[law]++
	if !holds {
		w.recordViolation(law, format, args...)
	}
}

// recordViolation records the first broken invariant.
func (w *checkLog) recordViolation(law, format string, args ...any) {
	if !slices.Contains(Invariants(), law) {
		panic("sim: no such invariant: " + law)
	}
	if w.violation == "" {
		w.violation = law + ": " + fmt.Sprintf(format, args...)
		w.logf("VIOLATION %s", w.violation)
	}
}

// Event is something that random runs must come across, or they test less than they seem to.
type Event string

// The events.
const (
	FenceStops             Event = "a fence stops a job"
	LeaseExpired           Event = "a run lease cannot be renewed"
	FenceAwaited           Event = "a lost job runs again elsewhere because its fence must have stopped it"
	GraceOver              Event = "a lost cluster is given up"
	HubCutOff              Event = "the hub is cut off"
	Hedges                 Event = "best fit hedges"
	DrainMoves             Event = "a job is moved from a drained cluster"
	LateResults            Event = "a result comes too late"
	ResultUnknown          Event = "a job is gone and nobody saw how it ended"
	DebtSettled            Event = "a debt is settled"
	RecordLost             Event = "a record was lost"
	TornFinish             Event = "a turn ends between the last status and Finished"
	LostClusterReturns     Event = "a lost cluster is back in time"
	GoneDeclared           Event = "a person's word ends a wait"
	GateOpens              Event = "a gate is opened"
	Preempts               Event = "a copy preempts"
	LandsLate              Event = "a call lands late"
	RefusedLate            Event = "a worker refuses what is of an epoch that is over"
	ClusterDegraded        Event = "a cluster does not answer and is not known to be lost"
	OfferRefused           Event = "a cluster refuses an offer for good"
	QuotaAwaited           Event = "the hub waits for its quota until the worker has stopped"
	DeletedRetained        Event = "a deleted workload is kept because its job may run"
	GoneDeclarationIgnored Event = "a person's word about a cluster that was not tried is not heeded"
	DrainWaits             Event = "the check says why a job stays on a cluster that it is to leave"
	SiblingYields          Event = "a sibling gives its offers up for one that comes before it"
	SlowFence              Event = "a fence needs longer than the hub allows"
	Unconfigured           Event = "a workload under way has lost its check or config"
	CacheBehind            Event = "a removal is given up because the hub's cache is behind"
	OfferedBehind          Event = "an offer is given up because the hub's cache is behind"
	PredecessorDebt        Event = "a predecessor's job out of reach is a debt"
	RemovedWithoutQuota    Event = "a running job is removed after the quota was given back, under a policy that promises something"
	ForgedJob              Event = "somebody makes a job that says it has succeeded"
	RelabelledJob          Event = "somebody takes the hub's label off its job"
	RemadeJob              Event = "a job is made anew while its predecessor's workload is there"
	TakesOver              Event = "a slice takes over from another"
	RecordTakenOver        Event = "a slice takes over a record"
	TakeoverInterrupted    Event = "the hub crashes while a slice takes over"
	Grows                  Event = "a job that runs gets more pods"
	Shrinks                Event = "a job that runs is made smaller"
	ShrunkFirst            Event = "a job is made smaller before its next slice is admitted"
	Renamed                Event = "a job names its next slice"
	EvictedWithNext        Event = "a job is evicted while its next slice waits"
	Retains                Event = "what has finished is retained"
	SliceDiscarded         Event = "a slice is deleted while its job may run"
)

// Events are all of them.
func Events() []Event {
	return []Event{
		FenceStops, LeaseExpired, FenceAwaited, GraceOver, HubCutOff, Hedges, DrainMoves, LateResults, ResultUnknown, DebtSettled, RecordLost, TornFinish,
		LostClusterReturns, GoneDeclared, GateOpens, Preempts, LandsLate, RefusedLate, ClusterDegraded, OfferRefused, QuotaAwaited, DeletedRetained, RemadeJob, Unconfigured, CacheBehind, OfferedBehind,
		GoneDeclarationIgnored, DrainWaits, SiblingYields, SlowFence, PredecessorDebt, RemovedWithoutQuota, ForgedJob, RelabelledJob,
		TakesOver, RecordTakenOver, TakeoverInterrupted, Grows, Shrinks, ShrunkFirst, Renamed, EvictedWithNext, SliceDiscarded, Retains,
	}
}

// recordEvent notes that something has happened.
func (w *checkLog) recordEvent(e Event) { w.eventCounts[e]++ }
