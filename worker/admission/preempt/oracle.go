package preempt

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/quota"
)

// Oracle returns the oracle for assign.Options.Preemption: how preemption could meet a request that does not fit now, of
// the workload in the queue, if nothing but that flavor-resource had to be found (contract: kueue-api.md 4.6).
//
//   - NoFit: no set of victims makes room, and the request is above the queue's nominal quota, with no policy that lets it
//     preempt while it borrows.
//   - NoCandidates: no set of victims makes room, but the queue may wait for what it owns, or for candidates.
//   - Reclaim: the queue would stay within its nominal quota, and only workloads of other queues have to go.
//   - Preempt: any other set makes room.
//
// It is a search of its own, so that for a need of a single flavor-resource it says exactly whether Find finds a set.
func (x *Search) Oracle(w *admission.Workload, queue string) func(*quota.Cell, amount.Amount) assign.Mode {
	need := Request{Workload: w, Queue: queue, Usage: make(admission.Usage, 1)}
	return func(cell *quota.Cell, request amount.Amount) assign.Mode {
		need.Usage[0] = quota.Use{FlavorResource: cell.Name(), Amount: request}
		return x.preemptionMode(need, cell)
	}
}

// preemptionMode returns what preemption could do for a request of one flavor-resource. It changes nothing.
func (x *Search) preemptionMode(n Request, cell *quota.Cell) assign.Mode {
	t := &x.simulation
	found := x.findVictims(n)
	switch {
	case !found && n.Usage[0].Amount > cell.Nominal() && !x.canPreemptWhileBorrowing(n, cell):
		return assign.NoFit
	case !found:
		return assign.NoCandidates
	case cell.Usage().Add(n.Usage[0].Amount) > cell.Nominal() || t.hasOwnVictims():
		return assign.Preempt
	}
	return assign.Reclaim
}

// hasOwnVictims reports whether a workload of the preemptor's own queue is among those taken.
func (t *simulation) hasOwnVictims() bool {
	for _, k := range t.victims {
		if k.Queue == t.request.Queue {
			return true
		}
	}
	return false
}

// canPreemptWhileBorrowing reports whether the workload may evict others although its queue will borrow then: from queues around it that
// borrow themselves, or, below a cohort that is no root, for what that cohort owns.
func (x *Search) canPreemptWhileBorrowing(n Request, cell *quota.Cell) bool {
	switch p := x.simulation.policy; {
	case p.reclaimWithinCohort.allowsNone():
		return false
	case x.options.FairSharing || !p.borrowWithinCohort.allowsNone():
		return true
	}
	for c := cell.Parent(); c != nil && c.Parent() != nil; c = c.Parent() {
		if n.Usage[0].Amount <= c.SubtreeQuota() {
			return true
		}
	}
	return false
}
