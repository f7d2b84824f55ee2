package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	workloads "switchyard.dev/worker/workload"
)

// mutantsOfSlices lose their way when a job is scaled.
func mutantsOfSlices() []mutant {
	local := func(change func(*dispatch.Slice)) StepFunc {
		return mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) { change(&o.Local.Slice) })
	}
	actions := func(drop func(dispatch.Plan, dispatch.Action) bool) StepFunc {
		return mutateOutput(func(_ dispatch.State, plan *dispatch.Plan) {
			plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a dispatch.Action) bool { return drop(*plan, a) })
		})
	}
	return []mutant{
		{mistake: "takes over no record", invariants: []string{invTakeover, invEpochs, invOneRun, invNoRerun}, step: local(func(s *dispatch.Slice) { s.Before = nil })},
		{mistake: "takes over the binding alone", invariants: []string{invTakeover, invEpochs}, step: local(func(s *dispatch.Slice) {
			if s.Before != nil {
				s.Before = &dispatch.State{Epoch: 1, Bound: s.Before.Bound, StopsOnHubLost: s.Before.StopsOnHubLost}
			}
		})},
		{mistake: "removes the job with the copy of a slice that was replaced", invariants: []string{invUnseenWork, invResultKept}, step: mutateOutput(func(_ dispatch.State, plan *dispatch.Plan) {
			for i := range plan.Actions {
				plan.Actions[i].OnlyCopy = false
			}
		})},
		{mistake: "has the job ask for more before its slice is admitted", invariants: []string{invPods}, step: resizesTooEarly},
		{mistake: "offers the next slice elsewhere", invariants: []string{invTakeover, invOneRun, invNoOlderJob, invOneJob}, step: local(func(s *dispatch.Slice) {
			if s.Before != nil {
				before := *s.Before
				before.Bound, s.Before = "", &before
			}
		})},
		{mistake: "does not have the job name its slice", invariants: []string{invSliceShown, invFixedPoint}, step: actions(func(_ dispatch.Plan, a dispatch.Action) bool {
			return a.Verb == dispatch.ResizeJob && !a.OnlyShrink
		})},
		{mistake: "does not make a job smaller before its next slice is admitted", invariants: []string{invScaled}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Job.SizeAbove = false
		}))},
		{mistake: "makes the copy smaller before the job", invariants: []string{invScaled}, step: shrinksCopiesFirst},
		{mistake: "removes a copy by which the job runs still", invariants: []string{invScaled}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			if o.Local.Slice.Passive {
				o.Local.Slice.NextOn = ""
				mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) { v.Job.NamesWorkload, v.Job.OfSlice = false, true })(&dispatch.State{}, o, nil)
			}
		})},
		{mistake: "leaves the copies of slices that were replaced", invariants: []string{invNoOrphan}, step: actions(func(plan dispatch.Plan, _ dispatch.Action) bool {
			return plan.Reason == dispatch.SlicePassive
		})},
		{mistake: "takes the wait for the next slice for a loss", invariants: []string{invUnseenWork}, step: local(func(s *dispatch.Slice) { s.Replacement = false })},
		{mistake: "goes on with a slice that was replaced", invariants: []string{invUnseenWork, invFinishedFinal, invResultKept, invNoOrphan}, step: local(func(s *dispatch.Slice) { s.Passive = false })},
		{mistake: "admits the next slice though the job is gone", rare: true, invariants: []string{invNoRerun, invResultKept}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Copy.Admitted && v.Job.Holder == dispatch.Absent && !v.Copy.Adopted {
				v.Replaced = dispatch.Copy{Holder: dispatch.Ours}
			}
		}))},
		{mistake: "a slice has the job until it has finished", invariants: []string{invOneSlice}, slice: func(wl *kueue.Workload, others []*kueue.Workload) dispatch.Slice {
			slice := hubworkload.ObserveSlice(wl, others)
			slice.Passive = slice.Passive && workloads.IsFinished(wl)
			return slice
		}},
	}
}

// resizesTooEarly has the job ask for what the slice is for as soon as that is offered.
func resizesTooEarly(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
	plan := dispatch.Step(s, o, p)
	if plan.Phase != dispatch.PhaseTakingOver || plan.Stores {
		return plan
	}
	for _, v := range o.Clusters {
		if v.Name == s.Bound && v.Copy.Holder == dispatch.Ours && v.Job.OfSlice {
			plan.Actions = append(slices.Clone(plan.Actions), dispatch.Action{Verb: dispatch.ResizeJob, Cluster: v.Name, Epoch: s.Epoch})
		}
	}
	return plan
}

// shrinksCopiesFirst makes the copy as small as the slice is now, and the job afterwards.
func shrinksCopiesFirst(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
	plan := dispatch.Step(s, o, p)
	for _, v := range o.Clusters {
		if v.Name == s.Bound && v.Copy.OnlyLarger && plan.Reason == dispatch.Running && !plan.Stores {
			plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a dispatch.Action) bool { return a.Verb == dispatch.ResizeJob })
			plan.Actions = append(plan.Actions, dispatch.Action{Verb: dispatch.UpdateOffer, Cluster: v.Name, Epoch: s.Epoch})
		}
	}
	return plan
}
