package view

import (
	"maps"
	"slices"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	api "switchyard.dev/worker/workload"
)

// Preemption is a workload that waits for others to leave.
type Preemption struct {
	// Decided is about the preemptor.
	WorkloadDecision
	// Evictions are the victims whose eviction has to be written now, in the order in which they were chosen. Victims that
	// are leaving already are not among them. Each must end in exactly one call of Written, Conflicted or Refused.
	Evictions []Eviction
	// Deferred says that the preemptor was told in an earlier batch: what follows are the victims that were not ready then, as
	// their own admission had not been answered.
	Deferred bool
}

// Eviction is a workload to be told to stop.
type Eviction struct {
	admission.Victim
	// Object is the Workload as the decision saw it, with quota reserved. The write must carry its resourceVersion. It is
	// shared: make a copy before changing it.
	Object *kueue.Workload
}

// pendingEviction is the decision to evict a workload, until the API's word on it is known. The base is empty as long as it has not
// been handed out, because the workload's own admission is still being written.
type pendingEviction struct {
	pendingWrite
	victim    admission.Victim
	preemptor WorkloadDecision
}

func (w *workload) issueEviction() Eviction {
	w.evicting.baseVersion = w.obj.ResourceVersion
	return Eviction{Victim: w.evicting.victim, Object: w.obj}
}

// settleEviction ends an eviction of which the API's last word says what became of it. The snapshot has the victim marked
// until then, so that no other workload is evicted for the same quota.
func (p *assumptions) settleEviction(w *workload) {
	switch {
	case w.evicting == nil || w.assumed != nil:
	case api.IsFinished(w.obj) || !api.HasQuota(w.obj) || api.IsEvicted(w.obj):
		w.evicting = nil
	case w.evicting.hasFailed(w.obj):
		p.cancelEviction(w)
	}
}

// cancelEviction lets a workload stay that a cycle wanted to leave: its eviction has not been written and will not be.
func (p *assumptions) cancelEviction(w *workload) {
	w.evicting = nil
	p.snap.UnmarkEvicting(w.key())
	p.writer.requestCycle()
}

// startEvictions records the victims of the preemptor and returns those whose eviction can be written at once.
func (p *assumptions) startEvictions(preemptor WorkloadDecision) []Eviction {
	var now []Eviction
	for _, victim := range preemptor.Victims {
		w := p.index.workloads[victim.Workload]
		switch {
		case w == nil:
			panic("view: the snapshot holds only workloads that the view knows: " + victim.Workload.String())
		case victim.Evicted || w.evicting != nil:
			continue
		}
		w.evicting = &pendingEviction{victim: victim, preemptor: preemptor}
		if w.assumed != nil {
			p.deferredEvictions[w.key()] = w
			continue
		}
		now = append(now, w.issueEviction())
	}
	return now
}

// popDeferredEvictions hands out the evictions of those whose admission has been confirmed meanwhile, and forgets those that are moot.
func (p *assumptions) popDeferredEvictions() []Preemption {
	var late []Preemption
	for _, key := range slices.SortedFunc(maps.Keys(p.deferredEvictions), admission.Key.Compare) {
		w := p.deferredEvictions[key]
		if w.assumed != nil {
			continue
		}
		delete(p.deferredEvictions, key)
		if w.evicting != nil && w.evicting.baseVersion == "" {
			preemptor := w.evicting.preemptor
			late = append(late, Preemption{WorkloadDecision: preemptor, Evictions: []Eviction{w.issueEviction()}, Deferred: true})
		}
	}
	return late
}
