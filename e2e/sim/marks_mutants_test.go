package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// mutantsOfTrust believe what others have written.
func mutantsOfTrust() []mutant {
	bearers := func(c *dispatch.Copy, j *dispatch.Job) {
		if j.Holder == dispatch.Ours && j.NamesWorkload {
			j.HasWorkloadUID = true
		}
		if c.Holder == dispatch.Ours && c.Adopted {
			c.AdoptedBy = j.UID
		}
	}
	gone := func(j *dispatch.Job) {
		if j.Holder == dispatch.Relabelled || j.Holder == dispatch.Foreign {
			*j = dispatch.Job{}
		}
	}
	return []mutant{
		{mistake: "believes any job that bears the label", invariants: []string{invEnded}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			bearers(&v.Copy, &v.Job)
			if v.Live != nil {
				live := *v.Live
				bearers(&live.Copy, &live.Job)
				v.Live = &live
			}
		}))},
		{mistake: "takes the word of clusters that nobody asked", invariants: []string{invEnded}, step: func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
			plan := dispatch.Step(s, o, p)
			if s.Bound != "" || o.Local.Finished || o.Local.Deleted || plan.Stores {
				return plan
			}
			for _, v := range o.Clusters {
				if v.Job.Holder == dispatch.Ours && v.Job.Finished != nil && !slices.Contains(s.Names(), v.Name) {
					plan.Actions = []dispatch.Action{{Verb: dispatch.Finish, Cluster: v.Name, Epoch: s.Epoch, Outcome: *v.Job.Finished}}
				}
			}
			return plan
		}},
		{mistake: "takes a job that has lost its label for gone", invariants: []string{invNoOlderJob, invQuotaAfterStop, invRunOnce, invNeverLose, invOneRun}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Live != nil {
				live := *v.Live
				gone(&live.Job)
				v.Live = &live
			}
		}))},
	}
}
