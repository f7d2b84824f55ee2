package plan

import (
	"fmt"
	"time"
)

// stepMatching decides for pods with a Workload of their own, in the order of urgency: pods that must not run are stopped first.
func (f *Facts) stepMatching() Plan {
	if f.Evicted && f.Reserved {
		return f.stepEvicted()
	}
	if running := f.where((*Member).mayRun); (!f.Admitted || f.Evicted) && len(running) > 0 {
		return Plan{Pods: f.stop(running), Reason: f.whyStopped()}
	}
	if changes := f.tidy(); len(changes) > 0 {
		return Plan{Pods: changes, Reason: ExcessPods}
	}
	switch {
	case f.any(func(m *Member) bool { return !m.Owner && !m.Deleting }):
		return Plan{Do: DoAdopt, Reason: NewMembers}
	case f.Outdated:
		return Plan{Do: DoUpdate, Reason: PodsChanged}
	case !f.RetireAt.IsZero() && !f.RetireAt.After(f.Now):
		return f.stepExpired()
	case f.Admitted && !f.Evicted:
		return f.stepAdmitted()
	}
	return f.report(f.whyWaiting(), f.RetireAt)
}

func (f *Facts) whyStopped() Reason {
	if f.Evicted {
		return WorkloadEvicted
	}
	return NotAdmitted
}

// stepEvicted stops the pods, and releases the quota once none runs.
func (f *Facts) stepEvicted() Plan {
	if running := f.where((*Member).mayRun); len(running) > 0 {
		return Plan{Pods: f.stop(running), Reason: WorkloadEvicted}
	}
	if f.any(f.isActive) {
		p := Plan{Reason: WaitingForPods, RequeueAt: f.nextGraceEnd(), Waiting: f.Waiting}
		if f.StatusOutdated {
			p.Do = DoUpdateStatus
		}
		return p
	}
	if f.Dispatched {
		return Plan{Reason: RunsElsewhere}
	}
	return Plan{Do: DoRelease, Reason: Drained, Waiting: f.needsReplacement()}
}

// stepExpired deletes all pods; their Workload goes with them.
func (f *Facts) stepExpired() Plan {
	if changes := f.deleteAll(); len(changes) > 0 {
		return Plan{Pods: changes, Reason: Expired}
	}
	return Plan{Reason: PodsGone}
}

// stepAdmitted lets the gated pods go. A pod that cannot be placed ends the Workload if none was let go before; it is one too many
// if others run already.
func (f *Facts) stepAdmitted() Plan {
	if f.Elsewhere {
		return f.report(RunsElsewhere, time.Time{})
	}
	gated := f.where(func(m *Member) bool { return m.Gated && !m.Deleting && !m.isTerminal() })
	var placed, misfits []int
	for _, i := range gated {
		if m := &f.Members[i]; m.CannotPlace || !f.knowsRole(m) {
			misfits = append(misfits, i)
		} else {
			placed = append(placed, i)
		}
	}
	switch {
	case len(gated) == 0:
		return f.report(PodsRun, f.nextGraceEnd())
	case (f.CannotPlace || len(misfits) > 0) && !f.HaveStarted():
		return Plan{Do: DoFinish, Reason: CannotPlace}
	case len(misfits) > 0:
		return Plan{Pods: f.removeExcess(misfits), Reason: ExcessPods}
	case f.CannotPlace: // what runs was placed before that was so
		return f.report(PodsRun, f.nextGraceEnd())
	}
	changes := make([]Change, 0, len(placed))
	for _, i := range placed {
		changes = append(changes, Change{Member: i, Ungate: true})
	}
	return Plan{Pods: changes, Reason: Admitted}
}

// knowsRole tells whether the Workload has a pod set for the pod.
func (f *Facts) knowsRole(m *Member) bool {
	if f.Single {
		return true
	}
	for _, role := range f.Roles {
		if role.Name == m.Role {
			return true
		}
	}
	return false
}

func (f *Facts) whyWaiting() Reason {
	if f.needsReplacement() {
		return WaitingForReplacement
	}
	return WaitingForAdmission
}

// report brings the Workload's status in line with the pods while there is nothing else to do.
func (f *Facts) report(because Reason, again time.Time) Plan {
	p := Plan{Reason: because, RequeueAt: again, Waiting: f.needsReplacement()}
	if f.StatusOutdated || p.Waiting != f.Waiting {
		p.Do = DoUpdateStatus
	}
	return p
}

// needsReplacement tells whether pods of a role are missing. A group that was admitted at once gets its pods later: it misses one
// only when none of the role is left. Whoever made a prebuilt Workload sees to the pods himself.
func (f *Facts) needsReplacement() bool {
	if f.Single || f.Prebuilt {
		return false
	}
	left := map[string]int{}
	for i := range f.Members {
		if m := &f.Members[i]; f.isPresent(m) && (!f.Evicted || !m.Deleting || m.isTerminal()) {
			left[m.Role]++
		}
	}
	for _, role := range f.Roles {
		if need := role.Count; left[role.Name] < need && (!f.Fast || left[role.Name] == 0) {
			return true
		}
	}
	return false
}

func succeededMessage(succeeded, total int) string {
	return fmt.Sprintf("Pods succeeded: %d/%d.", succeeded, total)
}
