// Package preempt finds the workloads to evict so that a workload fits (contract: kueue-api.md 4.7, 4.8).
//
// It decides on trials: it takes quota from candidates in the snapshot's quota tree, sees what that changes, and puts
// everything back. Nothing in the snapshot differs after a search, not even the versions of its quota.
package preempt

import (
	"switchyard.dev/worker/admission"
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

// Request is what room is to be made for.
type Request struct {
	Workload *admission.Workload
	// Queue is the ClusterQueue that the workload is to be admitted to.
	Queue string
	// Usage is what it would take, in the flavors that were chosen.
	Usage admission.Usage
}

// Find returns the workloads to evict so that the need can be met, in the order in which they were chosen; nil if there is no
// such set or none has to go. If all victims are Evicted already, there is nothing to do but to wait for them.
func Find(s *admission.Snapshot, n Request, o Options) []admission.Victim {
	return New(s, o).Find(n)
}

// Search finds victims in one snapshot. Keep one as long as the snapshot: it reuses its memory from one search to the next.
type Search struct {
	snapshot   *admission.Snapshot
	options    Options
	simulation simulation
	candidates candidateStream
	targets    targetOrdering
}

// New returns a search. It stays valid as the snapshot changes.
func New(s *admission.Snapshot, o Options) *Search {
	if len(o.Strategies) == 0 {
		o.Strategies = []Strategy{LessThanOrEqualToFinalShare, LessThanInitialShare}
	}
	return &Search{snapshot: s, options: o}
}

// Find is the function of the same name.
func (x *Search) Find(n Request) []admission.Victim {
	if !x.findVictims(n) {
		return nil
	}
	victims := make([]admission.Victim, len(x.simulation.victims))
	for i, t := range x.simulation.victims {
		victims[i] = admission.Victim{
			Workload: t.Key, UID: t.UID, Queue: t.Queue, Reason: t.reason, Evicted: t.Evicted,
		}
	}
	return victims
}

// findVictims leaves a set that makes room in trial.taken and reports whether there is one.
func (x *Search) findVictims(n Request) bool {
	t := &x.simulation
	if !t.prepare(x.snapshot, n) || t.policy.forbidsAll() {
		return false
	}
	t.tx = t.tree.BeginTrial()
	defer t.tx.Rollback()
	t.tx.Reserve(n.Queue, n.Usage)
	if t.fits() {
		return false
	}
	t.addLeaving(x.snapshot, x.options.FairSharing)
	if t.fits() {
		t.fillBack(t.rootLevel())
		return true
	}
	t.findCellsNeedingPreemption()
	if x.options.FairSharing {
		return x.findFair()
	}
	return x.findClassical()
}
