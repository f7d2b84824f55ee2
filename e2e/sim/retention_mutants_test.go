package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// mutantsOfRetention keep what has finished for too short a time, or for too long.
func mutantsOfRetention() []mutant {
	return []mutant{
		{mistake: "retains nothing", invariants: []string{invRetained}, step: mutateInput(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.RetainFinished = 0
		})},
		{mistake: "removes what it has not seen to have ended", invariants: []string{invRetained}, step: mutateOutput(func(_ dispatch.State, plan *dispatch.Plan) {
			plan.Actions = slices.Clone(plan.Actions)
			for i := range plan.Actions {
				plan.Actions[i].SpareFinished = plan.Actions[i].SpareFinished && plan.Reason != dispatch.Retained
			}
		})},
		{mistake: "does not look when a retention is over", invariants: []string{invNoOrphan, invFixedPoint}, step: mutateOutput(func(_ dispatch.State, plan *dispatch.Plan) {
			if plan.Reason == dispatch.Retained {
				plan.WakeAt = startTime()
			}
		})},
		{mistake: "counts a retention from when it looks", invariants: []string{invRetentionOver, invNoOrphan, invFixedPoint}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.FinishedAt = o.Now
		})},
		{mistake: "believes a clock that is far ahead", invariants: []string{invRetentionOver, invNoOrphan}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, p *dispatch.Policy) {
			if latest := o.Now.Add(p.RetainFinished); o.Local.FinishedAt.After(latest) {
				o.Local.FinishedAt = latest
			}
		})},
		{mistake: "retains what it has given up", invariants: []string{invRetentionOver}, step: retainsWhatWasGivenUp},
		{mistake: "retains what is on a cluster that is being drained", invariants: []string{invRetentionOver}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Operator.BeingDrained = false
		}))},
	}
}

// retainsWhatWasGivenUp takes what is on a cluster that was given up for what ran there last.
func retainsWhatWasGivenUp(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
	if !o.Local.Finished || !s.Retreating() {
		return dispatch.Step(s, o, p)
	}
	kept := s
	kept.Debts = nil
	o.Clusters = slices.Clone(o.Clusters)
	for i := range o.Clusters {
		o.Clusters[i].Copy.Epoch, o.Clusters[i].Job.Epoch, o.Clusters[i].Live = s.Epoch, s.Epoch, nil
	}
	plan := dispatch.Step(kept, o, p)
	plan.Next = s
	return plan
}
