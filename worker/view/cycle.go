package view

import (
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// WorkloadDecision is a decision of a cycle about a Workload.
type WorkloadDecision struct {
	admission.Decision
	// Object is the Workload as the decision saw it. It is shared: make a copy before changing it.
	Object *kueue.Workload
	// Checks are the admission checks that apply, sorted; for Admit only.
	Checks []string
	// PodSets are what the workload asks for now. They are shared: BuildPodSetRequests makes a status of them.
	PodSets []admission.PodSet
	// Replaced is the slice from which the workload takes over, as the decision saw it; for Admit only, nil if there is none. It is to be
	// finished once the admission has been written.
	Replaced *kueue.Workload
	// Stale says that the workload was not looked at, and that what it was told before need not be true any more: Reason is
	// PendingEvaluation, which otherwise is for the workload's own controller to say.
	Stale bool
}

// CycleResult is what a cycle decided.
type CycleResult struct {
	// Admit holds the workloads for which quota is now assumed, in the order of the decisions: each must end in exactly
	// one call of Written, Conflicted or Refused.
	Admit []WorkloadDecision
	// Preempt holds the workloads that wait for others to be evicted, in the order of the decisions.
	Preempt []Preemption
	// Wait holds the workloads that got a new reason to wait.
	Wait []WorkloadDecision
	// Overlaps are the preemptors that met victims of others.
	Overlaps []admission.Overlap
	// More asks for another cycle at once.
	More bool
	// NextCycleAt asks for another cycle at that time; the zero time does not.
	NextCycleAt time.Time
}

// RunCycle runs one scheduling cycle at the time now with everything held still, and assumes what it admits. The function must
// be pure and must not keep the snapshot.
func (v *View) RunCycle(now time.Time, run func(*admission.Snapshot) admission.Plan) CycleResult {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.staleReports.cycles++
	restores := v.acceptStaleVersions(now)
	wake := earlierNonZero(v.sampleUsage(now), restores)
	plan := run(v.snap)
	batch := CycleResult{Overlaps: plan.Overlaps, More: plan.HasMore, NextCycleAt: earlierNonZero(plan.NextCycleAt, wake), Preempt: v.popDeferredEvictions()}
	for _, d := range plan.Decisions {
		w := v.workloads[d.Workload]
		if w == nil {
			panic("view: the snapshot holds only workloads that the view knows: " + d.Workload.String())
		}
		decided := WorkloadDecision{Decision: d, Object: w.obj}
		if w.entry.pending != nil {
			decided.PodSets = w.entry.pending.PodSets
		}
		switch d.Outcome {
		case admission.Admit:
			decided.Replaced = v.replacedSlice(w)
			decided.Checks = v.assume(w, d)
			batch.Admit = append(batch.Admit, decided)
		case admission.Preempt:
			v.staleReports.recordReport(w, d)
			batch.Preempt = append(batch.Preempt, Preemption{WorkloadDecision: decided, Evictions: v.startEvictions(decided)})
		case admission.Wait:
			v.staleReports.recordReport(w, d)
			batch.Wait = append(batch.Wait, w.withBlockReason(decided))
		}
	}
	if !plan.HasMore {
		batch.Wait = append(batch.Wait, v.staleReports.updateStaleReports(now)...)
	}
	return batch
}

// earlierNonZero is the earlier of two times, of which the zero time is none.
func earlierNonZero(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// withBlockReason says what is wrong with a workload that has not even got a ClusterQueue: the core knows only that it has none.
func (w *workload) withBlockReason(d WorkloadDecision) WorkloadDecision {
	if waiting := w.entry.pending; waiting != nil && waiting.Queue == "" && waiting.Blocked != nil {
		d.Reason, d.Message = waiting.Blocked.Reason, waiting.Blocked.Message
	}
	return d
}

// LookupPending returns a Workload that waits for quota, as seen last; nil when it does not. It is shared: make a copy before
// changing it.
func (v *View) LookupPending(key admission.Key) *kueue.Workload {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.workloads[key]
	if w == nil || w.assumed != nil || w.entry.pending == nil {
		return nil
	}
	return w.obj
}

// assume notes that the snapshot is ahead of the API, and returns the checks that apply.
func (p *assumptions) assume(w *workload, d admission.Decision) []string {
	w.assumed = &pendingWrite{baseVersion: w.obj.ResourceVersion}
	p.writer.syncSlices(w)
	p.writer.updateUsage(w)
	p.broadcaster.notifyEntryQueues(w.entry, w.entry)
	q, _ := p.snap.ClusterQueue(d.Queue)
	return q.AdmissionChecksFor(*d.Assignment)
}

// replacedSlice returns the Workload from which a pending one takes over when it is admitted; nil if there is none.
func (x *workloadIndex) replacedSlice(w *workload) *kueue.Workload {
	if w.entry.pending == nil || w.entry.pending.Replaces == (admission.Key{}) {
		return nil
	}
	if old := x.workloads[w.entry.pending.Replaces]; old != nil {
		return old.obj
	}
	return nil
}
