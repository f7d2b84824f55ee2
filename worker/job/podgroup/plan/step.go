package plan

import "time"

const (
	// cacheRetry is how long to wait for a cache that does not show our own last write, unless an event comes before.
	cacheRetry = time.Second
	// composeRetry is how often pods are looked at that cannot be turned into a Workload for want of something that is no pod.
	composeRetry = 15 * time.Second
)

// Step decides what to do. It is total: every combination of facts has an answer.
func Step(f Facts) Plan {
	switch {
	case f.CacheBehind:
		return Plan{Reason: CatchingUp, RequeueAt: f.Now.Add(cacheRetry)}
	case len(f.Members) == 0:
		return f.stepWithoutPods()
	case f.Link == LinkStray:
		return Plan{Do: DoDiscard, Reason: Regrouped}
	case f.isOurs() && f.Finished:
		return f.stepFinished()
	case f.Single && f.isOurs() && f.Evicted && f.Reserved && !f.Deleting: // the last word of a pod that was evicted
		return f.stepEvicted()
	}
	if outcome := f.outcome(); outcome != nil {
		return f.stepEnded(outcome)
	}
	switch {
	case f.isOurs() && f.Deleting:
		return f.stepDeleting()
	case f.Single && !f.isPresent(&f.Members[0]):
		return f.stepLeaving()
	case f.Link != LinkMatching:
		return f.stepUnmatched()
	}
	return f.stepMatching()
}

// stepWithoutPods lets go of a Workload whose pods are gone. Whether it goes is the garbage collector's to decide.
func (f *Facts) stepWithoutPods() Plan {
	switch {
	case f.Link == LinkNone || !f.HasPodOwners:
		return Plan{Reason: Over}
	case f.Single && (f.Finalizer || !f.Finished && !f.Deleting && (f.Reserved || !f.Evicted)):
		return Plan{Do: DoForget, Reason: PodsGone}
	case f.Finalizer && !f.HasOtherOwners:
		return Plan{Do: DoRemoveFinalizer, Reason: PodsGone}
	}
	return Plan{Reason: Over}
}

// HaveEnded tells whether the pods have ended for good, whatever becomes of their Workload.
func (f *Facts) HaveEnded() bool { return len(f.Members) > 0 && f.outcome() != nil }

// outcome returns how the pods ended, nil while they have not. A group that serves never ends. A single pod of a hub that was told to go has not
// ended for the hub.
func (f *Facts) outcome() *Outcome {
	switch m := &f.Members[0]; {
	case f.Single && m.isTerminal() && (!f.Copy || !m.Told):
		return &Outcome{Success: m.Phase == Succeeded, Message: f.Message}
	case f.Single || f.Serving:
		return nil
	}
	succeeded := f.count(f.succeeded)
	whole := f.TotalCount > 0 && succeeded >= f.TotalCount
	if whole || f.any(func(m *Member) bool { return m.Unretriable }) && f.count((*Member).isTerminal) == len(f.Members) {
		return &Outcome{Success: true, Message: succeededMessage(succeeded, f.TotalCount)}
	}
	return nil
}

// stepEnded never looks at what the Workload asks for: the end is a fact whatever was changed before.
func (f *Facts) stepEnded(outcome *Outcome) Plan {
	if f.isOurs() {
		return Plan{Do: DoFinish, Reason: Ended, Outcome: outcome}
	}
	return Plan{Pods: f.finalize((*Member).isTerminal), Reason: Over}
}

// stepFinished lets the pods of a finished Workload go. If it did not end as they did they have lost their right to run. Pods that
// came later wait for the Workload to go.
func (f *Facts) stepFinished() Plan {
	running := f.where((*Member).mayRun)
	if !f.FinishedAsJob && len(running) > 0 {
		return Plan{Pods: f.stop(running), Reason: NoMatchingWorkload}
	}
	over := func(m *Member) bool { return m.isTerminal() || m.Owner && (m.Gated || !f.isPresent(m)) }
	if f.Single {
		over = func(m *Member) bool { return !f.isActive(m) && !m.mayRun() }
	}
	p := Plan{Pods: f.finalize(over), Reason: Over}
	if f.Finalizer {
		p.Do = DoRemoveFinalizer
	}
	return p
}

// stepDeleting stops and deletes the pods of a Workload that is being deleted, and lets the Workload go once none runs.
func (f *Facts) stepDeleting() Plan {
	if changes := f.deleteAll(); len(changes) > 0 {
		return Plan{Pods: changes, Reason: WorkloadDeleted}
	}
	if f.any(f.isActive) {
		return Plan{Reason: WaitingForPods, RequeueAt: f.nextGraceEnd()}
	}
	if f.Finalizer {
		return Plan{Do: DoRemoveFinalizer, Reason: WorkloadDeleted}
	}
	return Plan{Reason: Over}
}

// stepLeaving is for a single pod that is being deleted and will not run any more.
func (f *Facts) stepLeaving() Plan {
	p := Plan{Pods: f.finalize(func(*Member) bool { return true }), Reason: PodsGone}
	if f.isOurs() && f.Finalizer {
		p.Do = DoRemoveFinalizer
	}
	return p
}

// stepUnmatched is for pods whose Workload is missing, another's, or asks for something else. They must not run.
func (f *Facts) stepUnmatched() Plan {
	if running := f.where((*Member).mayRun); len(running) > 0 && f.Link != LinkUnowned {
		return Plan{Pods: f.stop(running), Reason: NoMatchingWorkload}
	}
	switch f.Link {
	case LinkAwaited:
		return Plan{Pods: f.finalize(func(m *Member) bool { return !f.isPresent(m) }), Reason: WaitingForPrebuilt}
	case LinkForeign:
		return Plan{Pods: f.finalize(func(m *Member) bool { return !f.isPresent(m) }), Reason: f.foreignReason()}
	case LinkUnowned:
		return Plan{Do: DoAdopt, Reason: NewMembers}
	case LinkOutOfSync:
		if f.any(f.isActive) {
			return Plan{Reason: WaitingForPods, RequeueAt: f.nextGraceEnd()}
		}
		return Plan{Do: DoFinish, Reason: OutOfSync}
	case LinkNone, LinkStray, LinkMatching:
	}
	return f.stepWithoutWorkload()
}

func (f *Facts) foreignReason() Reason {
	if f.Single || f.Prebuilt {
		return WaitingForPrebuilt
	}
	return NameConflict
}

// stepWithoutWorkload makes the Workload, once there are as many pods as there are to be.
func (f *Facts) stepWithoutWorkload() Plan {
	if changes := f.tidy(); len(changes) > 0 {
		return Plan{Pods: changes, Reason: ExcessPods}
	}
	switch {
	case f.any(f.isActive):
		return Plan{Reason: WaitingForPods, RequeueAt: f.nextGraceEnd()}
	case !f.any(func(m *Member) bool { return m.Gated && !m.Deleting }):
		return Plan{Reason: Over}
	case f.CannotCompose == PriorityClassNotFound:
		return Plan{Reason: f.CannotCompose, RequeueAt: f.Now.Add(composeRetry)}
	case f.CannotCompose != "":
		return Plan{Reason: f.CannotCompose}
	}
	return Plan{Do: DoCreate, Reason: NoWorkload}
}
