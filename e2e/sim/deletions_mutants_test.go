package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/worker/job"
)

// mutantsOfDeletion are careless about Workloads that are deleted, and about quota that is given back.
func mutantsOfDeletion() []mutant {
	controller := func(change func(*job.Facts)) JobFunc {
		return func(f job.Facts) job.Plan {
			change(&f)
			return job.Step(f)
		}
	}
	local := func(change func(*dispatch.State, *dispatch.Local)) StepFunc {
		return mutateInput(func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) { change(s, &o.Local) })
	}
	return []mutant{
		{mistake: "lets a deleted workload go although its job may run", invariants: []string{invOneRun, invRunOnce, invNeverLose}, step: dropsLostDebts},
		{mistake: "the job's controller lets every deleted workload go", invariants: []string{invOneRun, invRunOnce, invNeverLose}, job: controller(func(f *job.Facts) {
			f.Bound, f.HasDebt, f.Drained = f.Bound && !f.Deleting, f.HasDebt && !f.Deleting, f.Drained || f.Deleting
		})},
		{mistake: "never says that a deleted workload may go", invariants: []string{invDeletion}, step: local(func(_ *dispatch.State, l *dispatch.Local) {
			l.KeptForJob = false
		})},
		{mistake: "spares no result of a workload that goes", invariants: []string{invResultKept}, step: mutateOutput(func(_ dispatch.State, plan *dispatch.Plan) {
			for i := range plan.Actions {
				plan.Actions[i].SpareFinished = plan.Actions[i].SpareFinished && plan.Reason != dispatch.Deleted
			}
		})},
		{mistake: "the hub's quota is free when its job shows no pods", invariants: []string{invQuotaAfterStop}, job: controller(func(f *job.Facts) {
			f.Dispatched = false
		})},
		{mistake: "takes the binding back before the worker has stopped", invariants: []string{invQuotaAfterStop}, step: func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
			plan := dispatch.Step(s, o, p)
			if o.Local.Quota.AwaitsUnbinding && s.Retreating() && plan.Next.Equal(s) {
				plan.Next.Bound, plan.Actions = "", nil
			}
			return plan
		}},
		{mistake: "leaves a job alone whose copy is gone while the hub waits for its quota", invariants: []string{invFixedPoint, invProgress, invNoOrphan}, step: leavesJobRunning},
		{mistake: "takes the job that bears the name for the workload's", invariants: []string{invRemadeJob}, driverBugs: DriverBugs{MatchesJobByName: true}},
		{mistake: "forgets what predecessors left on clusters out of reach", invariants: []string{invPredecessor}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Link.State != dispatch.Connected && (v.Job.Holder == dispatch.Predecessor || v.Copy.Holder == dispatch.Predecessor) {
				v.Copy, v.Job = dispatch.Copy{}, dispatch.Job{}
			}
		}))},
	}
}

// dropsLostDebts records nothing of what a Workload that is kept may have left.
func dropsLostDebts(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
	plan := dispatch.Step(s, o, p)
	if o.Local.KeptForJob && !plan.Next.Equal(s) {
		plan.Next.Debts, plan.Next.Bound, plan.Next.StopsOnHubLost = nil, "", false
	}
	return plan
}

// leavesJobRunning removes nothing where the job runs that the hub has evicted, unless its copy is there.
func leavesJobRunning(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
	plan := dispatch.Step(s, o, p)
	plan.Actions = slices.DeleteFunc(plan.Actions, func(a dispatch.Action) bool {
		return a.Verb == dispatch.Retract && o.Local.Quota.AwaitsUnbinding && s.Bound == a.Cluster && slices.ContainsFunc(o.Clusters, func(v dispatch.ClusterView) bool {
			return v.Name == a.Cluster && v.Copy.Holder != dispatch.Ours
		})
	})
	return plan
}

// mutantsOfConfigChange lose their way when things are missing or old.
func mutantsOfConfigChange() []mutant {
	return []mutant{
		{mistake: "forgets who has lost its check or config", invariants: []string{invUnconfigured}, driverBugs: DriverBugs{DropsUnconfigured: true}},
		{mistake: "goes by a config that is gone", invariants: []string{invListed}, driverBugs: DriverBugs{KeepsOldConfig: true}},
		{mistake: "guesses the policy while there is no config", invariants: []string{invNeverLose}, driverBugs: DriverBugs{AssumesDefaultPolicy: true}},
		{mistake: "makes offers on the word of the hub's cache", invariants: []string{invNoRerun}, driverBugs: DriverBugs{OffersFromStaleCache: true}},
		{mistake: "removes jobs on the word of the hub's cache", invariants: []string{invUnseenWork}, driverBugs: DriverBugs{TrustsItsCache: true}},
	}
}
