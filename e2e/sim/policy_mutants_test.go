package sim

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/fence"
)

// mutantsOfHolds do not keep what the policies promise about clusters out of reach.
func mutantsOfHolds() []mutant {
	policy := func(change func(*dispatch.Policy)) StepFunc {
		return mutateInput(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) { change(p) })
	}
	return []mutant{
		{mistake: "allows for no skew", invariants: []string{invRunOnce}, step: policy(func(p *dispatch.Policy) { p.SkewMargin = 0 })},
		{mistake: "forgets that a lease lasts", invariants: []string{invRunOnce}, step: policy(func(p *dispatch.Policy) { p.LeaseDuration = 0 })},
		{mistake: "takes run once for compatible", invariants: []string{invRunOnce}, step: policy(func(p *dispatch.Policy) { p.OnHubLost = dispatch.KeepRunning })},
		{mistake: "takes never lose for compatible", invariants: []string{invNeverLose}, step: policy(func(p *dispatch.Policy) { p.OnWorkerLost = dispatch.Redispatch })},
		{mistake: "forgets the termination grace", invariants: []string{invRunOnce}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Job.KillGrace = 0
		})},
		{mistake: "takes every worker for fenced", invariants: []string{invRunOnce}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Fence.Alive = true
		}))},
		{mistake: "takes every job for stamped", invariants: []string{invRunOnce, invFinishedFinal, invFixedPoint, invProgress}, step: mutateInput(func(s *dispatch.State, _ *dispatch.Observation, _ *dispatch.Policy) {
			s.StopsOnHubLost = s.Bound != ""
			s.Debts = slices.Clone(s.Debts)
			for i := range s.Debts {
				s.Debts[i].StopsOnHubLost = true
			}
		})},
		{mistake: "takes a lost cluster for one declared gone", invariants: []string{invNeverLose, invRunOnce, invNoOlderJob, invGrace, invCutOff}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Operator.DeclaredGone = v.Link.State == dispatch.Unreachable
		}))},
		{mistake: "lets offers lie that the fence has ended", invariants: []string{invProgress, invHedge}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Copy.Deactivating = v.Copy.Deactivating && !v.Copy.Evicted && v.Copy.QuotaReserved
		}))},
		{mistake: "forgets renewals that were not answered", invariants: []string{invRunOnce}, driverBugs: DriverBugs{ForgetsUnansweredRenewals: true}},
		{mistake: "relies on fences that need longer than it allows", rare: true, invariants: []string{invRunOnce}, driverBugs: DriverBugs{TrustsAnyFence: true}},
		{mistake: "offers where the lease has run out", invariants: []string{invLease}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Fence.Lease == dispatch.LeaseLapsed {
				v.Fence.Lease = dispatch.Leased
			}
		}))},
		{mistake: "offers before the lease is renewed", invariants: []string{invLease}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Fence.Lease == dispatch.LeaseAwaited {
				v.Fence.Lease = dispatch.Leased
			}
		}))},
		{mistake: "heeds a person's word about a cluster that was not tried", invariants: []string{invGoneDeclaration}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Link.Untried = false
		}))},
		{mistake: "takes what is gone for what has ended", invariants: []string{invRunOnce, invNeverLose}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Ended.StoppedEpoch = 1 << 60
		}))},
		{mistake: "lets a job go that somebody hurries", rare: true, invariants: []string{invRunOnce, invNeverLose}, driverBugs: DriverBugs{AllowsBackgroundDeletion: true}},
		{mistake: "forgets renewals when it restarts", invariants: []string{invRunOnce}, driverBugs: DriverBugs{ForgetsLeaseOnRestart: true}},
	}
}

// mutantsOfFence are programs of workers.
func mutantsOfFence() []mutant {
	mistaken := func(change func(*fence.State, *fence.Observation)) FenceFunc {
		return func(s fence.State, o fence.Observation) fence.Plan {
			o.Workloads = slices.Clone(o.Workloads)
			if o.Lease != nil {
				lease := *o.Lease
				o.Lease = &lease
			}
			change(&s, &o)
			return fence.Step(s, o)
		}
	}
	return []mutant{
		{mistake: "the fence stops nothing", invariants: []string{invRunOnce}, fence: mistaken(func(_ *fence.State, o *fence.Observation) { o.Workloads = nil })},
		{mistake: "the fence stops what is to keep running", invariants: []string{invFence}, fence: mistaken(func(_ *fence.State, o *fence.Observation) {
			for i := range o.Workloads {
				o.Workloads[i].Stop = true
			}
		})},
		{mistake: "the fence stops what has finished", invariants: []string{invFence}, fence: mistaken(func(_ *fence.State, o *fence.Observation) {
			for i := range o.Workloads {
				o.Workloads[i].Finished = false
			}
		})},
		{mistake: "the fence believes in a lease for twice as long", invariants: []string{invRunOnce}, fence: mistaken(func(_ *fence.State, o *fence.Observation) {
			if o.Lease != nil {
				o.Lease.Duration *= 2
			}
		})},
		{mistake: "the fence takes the lease that it finds for a new one", invariants: []string{invRunOnce}, fence: mistaken(func(_ *fence.State, o *fence.Observation) {
			if o.Lease != nil {
				o.Now = o.Lease.Renewed
			}
		})},
	}
}

// mutantsOfPlacement choose badly, or do not heed what people say.
func mutantsOfPlacement() []mutant {
	policy := func(change func(*dispatch.Policy)) StepFunc {
		return mutateInput(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) { change(p) })
	}
	choices := func(change func(*placement.Choice)) RankFunc {
		return func(r placement.Request, fleet []placement.Cluster) []placement.Choice {
			list := placement.Rank(r, fleet)
			for i := range list {
				change(&list[i])
			}
			return list
		}
	}
	return []mutant{
		{mistake: "offers to cordoned clusters", invariants: []string{invCordon}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Operator.Cordoned, v.Operator.Draining = false, false
		}))},
		{mistake: "keeps the offers on a cordoned cluster", invariants: []string{invCordon}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			if slices.Contains(s.Nominated, v.Name) && v.Copy.Holder == dispatch.Ours {
				v.Operator.Cordoned, v.Operator.Draining = false, false
			}
		}))},
		{mistake: "drains though nobody else can take the workload", invariants: []string{invDrain}, step: mutateInput(func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			for _, v := range o.Clusters {
				if v.Name == s.Bound && v.Operator.Draining {
					o.Clusters = append(o.Clusters, dispatch.ClusterView{Name: "w9", InConfig: true, Link: dispatch.Link{State: dispatch.Connected}})
				}
			}
		})},
		{mistake: "drains all at once, on what the cache shows", invariants: []string{invUnseenWork, invDrain, invResultKept}, step: mutateInput(func(s *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			for i := range o.Clusters {
				if v := &o.Clusters[i]; v.Name == s.Bound && v.Operator.BeingDrained {
					v.Operator.Draining = true
					v.Live = &dispatch.Live{Epoch: s.Epoch, Copy: v.Copy, Job: v.Job}
				}
			}
		})},
		{mistake: "gives the best cluster no time", invariants: []string{invRound, invOfferTime}, step: policy(func(p *dispatch.Policy) { p.HedgeAfter = min(p.HedgeAfter, time.Nanosecond) })},
		{mistake: "drains jobs that nobody else has room for", invariants: []string{invDrain, invProgress}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			if s.Bound != "" {
				v.Fit = dispatch.Fit{Preempting: v.Fit.Preempting}
			}
		}))},
		{mistake: "starts the time of an offer that was not sent", invariants: []string{invOfferTime}, step: mutateInput(mutateViews(func(s dispatch.State, v *dispatch.ClusterView) {
			v.Offer.StartedAt = s.Round
		}))},
		{mistake: "never hedges", invariants: []string{invHedge, invProgress}, step: policy(func(p *dispatch.Policy) { p.HedgeAfter = 0 })},
		{mistake: "waits for clusters that do not answer", invariants: []string{invUnresponsive}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Health.Degraded = ""
		}))},
		{mistake: "does not notice that calls fail", invariants: []string{invUnresponsive, invProgress}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Health.Trouble = ""
		}))},
		{mistake: "goes by the config where names count", invariants: []string{invOrder}, step: policy(func(p *dispatch.Policy) { p.ByName = false })},
		{mistake: "goes by names where the config counts", invariants: []string{invOrder}, step: policy(func(p *dispatch.Policy) { p.ByName = true })},
		{mistake: "takes back why a job stays as soon as others have their turn", invariants: []string{invDrainMessage}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Operator.BeingDrained = false
		}))},
		{mistake: "lets siblings choose who have to wait", invariants: []string{invSibling}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Siblings.Awaited = false
		})},
		{mistake: "parts siblings", invariants: []string{invSibling}, step: mutateInput(func(_ *dispatch.State, o *dispatch.Observation, _ *dispatch.Policy) {
			o.Local.Siblings.Pin, o.Local.Siblings.Awaited = "", false
		})},
		{mistake: "ranks the worst cluster first", invariants: []string{invFirstOfferFits}, rank: choices(func(c *placement.Choice) { c.Score = -c.Score })},
		{mistake: "ranks by name alone", invariants: []string{invFirstOfferFits}, rank: choices(func(c *placement.Choice) { c.Score = 1 })},
		{mistake: "ranks by another workload's size", invariants: []string{invNoUnfitOffer, invFirstOfferFits}, rank: func(r placement.Request, fleet []placement.Cluster) []placement.Choice {
			r.PodSets = nil
			return placement.Rank(r, fleet)
		}},
		{mistake: "takes what does not fit now for what never will", invariants: []string{invHedge, invProgress, invFirstOfferFits}, rank: choices(func(c *placement.Choice) {
			c.Eligible = c.Eligible && c.Reason != placement.Waits
		})},
	}
}
