package sim

import (
	"cmp"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// mutateRequest is placement with a mistake in what it is asked.
func mutateRequest(change func(*placement.Request)) RankFunc {
	return func(r placement.Request, fleet []placement.Cluster) []placement.Choice {
		r.PodSets = slices.Clone(r.PodSets)
		change(&r)
		return placement.Rank(r, fleet)
	}
}

// mutateCluster is placement with a mistake in what it knows of each cluster; the capacity is a copy, but nil if nothing is known.
func mutateCluster(change func(*placement.Cluster)) RankFunc {
	return func(r placement.Request, fleet []placement.Cluster) []placement.Choice {
		fleet = slices.Clone(fleet)
		for i := range fleet {
			if known := fleet[i].Capacity; known != nil {
				own := *known
				own.Flavors, own.Locals, own.Queues = slices.Clone(own.Flavors), slices.Clone(own.Locals), slices.Clone(own.Queues)
				for q := range own.Queues {
					own.Queues[q].Groups = slices.Clone(own.Queues[q].Groups)
					own.Queues[q].Groups[0].Flavors = slices.Clone(own.Queues[q].Groups[0].Flavors)
				}
				fleet[i].Capacity = &own
			}
			change(&fleet[i])
		}
		return placement.Rank(r, fleet)
	}
}

// mutateCapacity is sees for clusters of which something is known.
func mutateCapacity(change func(*placement.Capacity, *placement.Queue, *placement.FlavorQuota)) RankFunc {
	return mutateCluster(func(c *placement.Cluster) {
		if c.Capacity != nil {
			change(c.Capacity, clusterQueue(c), flavorCapacity(c))
		}
	})
}

// mutateChoice is placement with a mistake in what it says.
func mutateChoice(change func(placement.Request, *placement.Choice)) RankFunc {
	return func(r placement.Request, fleet []placement.Cluster) []placement.Choice {
		list := placement.Rank(r, fleet)
		for i := range list {
			change(r, &list[i])
		}
		return list
	}
}

// mutantsOfRank leave out a guard of placement. Most are held against its own laws; where the dispatcher shows the mistake, its
// schedules are used.
func mutantsOfRank() []mutant {
	const most = 1 << 50
	locals := mutateCapacity(func(c *placement.Capacity, _ *placement.Queue, _ *placement.FlavorQuota) {
		c.Locals = []placement.LocalQueue{{Key: workloadKey(queueName), Queue: queueName}}
	})
	taints := mutateCapacity(func(c *placement.Capacity, _ *placement.Queue, _ *placement.FlavorQuota) { c.Flavors[0].Taints = nil })
	flights := mutateCluster(func(c *placement.Cluster) { c.InFlight = nil })
	preempting := mutateCapacity(func(_ *placement.Capacity, _ *placement.Queue, room *placement.FlavorQuota) {
		if room.Preempting != nil {
			room.Nominal, room.Free, room.Preempting = room.Preempting[0].Free, room.Preempting[0].Free, nil
		}
	})
	return []mutant{
		{mistake: "placement forgets LocalQueues", invariants: []string{rankIneligible}, rank: locals},
		{mistake: "placement forgets LocalQueues in the model", invariants: []string{invNoUnfitOffer, invFirstOfferFits}, rank: locals},
		{mistake: "placement forgets taints", invariants: []string{rankIneligible}, rank: taints},
		{mistake: "placement forgets taints in the model", invariants: []string{invNoUnfitOffer, invFirstOfferFits}, rank: taints},
		{mistake: "placement forgets that a LocalQueue is closed", invariants: []string{rankIneligible}, rank: mutateCapacity(func(c *placement.Capacity, _ *placement.Queue, _ *placement.FlavorQuota) {
			for i := range c.Locals {
				c.Locals[i].Closed = ""
			}
		})},
		{mistake: "placement forgets that a ClusterQueue is closed", invariants: []string{rankIneligible}, rank: mutateCapacity(func(_ *placement.Capacity, q *placement.Queue, _ *placement.FlavorQuota) {
			q.Closed = ""
		})},
		{mistake: "placement takes every kind for served", invariants: []string{rankIneligible}, rank: mutateRequest(func(r *placement.Request) { r.Kind = "" })},
		{mistake: "placement does not see a cordon", invariants: []string{rankIneligible}, rank: mutateCluster(func(c *placement.Cluster) { c.Cordoned = false })},
		{mistake: "placement forgets who can never hold a workload", invariants: []string{rankIneligible}, rank: mutateCapacity(func(_ *placement.Capacity, _ *placement.Queue, room *placement.FlavorQuota) {
			room.Largest = oneAmount(most)
		})},
		{mistake: "placement forgets who has refused", invariants: []string{rankRefused}, rank: mutateRequest(func(r *placement.Request) { r.Refused = nil })},
		{mistake: "placement forgets what is under way", invariants: []string{rankInFlight}, rank: flights},
		{mistake: "placement forgets what is under way in the model", invariants: []string{invFirstOfferFits}, rank: flights},
		{mistake: "placement forgets what is under way to nobody knows which flavor", invariants: []string{rankInFlight}, rank: mutateCluster(func(c *placement.Cluster) {
			c.InFlight = slices.DeleteFunc(slices.Clone(c.InFlight), func(c placement.Claim) bool { return c.Flavor == "" })
		})},
		{mistake: "placement counts what is under way to others", invariants: []string{rankInFlight}, rank: mutateCluster(func(c *placement.Cluster) {
			c.InFlight = slices.Clone(c.InFlight)
			for i := range c.InFlight {
				c.InFlight[i].Queue = queueName
			}
		})},
		{mistake: "placement takes borrowed quota for its own", invariants: []string{rankOwn}, rank: mutateCapacity(func(_ *placement.Capacity, _ *placement.Queue, room *placement.FlavorQuota) {
			room.Nominal = room.Free
		})},
		{mistake: "placement forgets preferences", invariants: []string{rankPreferred}, rank: mutateRequest(func(r *placement.Request) { r.Prefer = nil })},
		{mistake: "placement prefers before it looks for room", invariants: []string{rankClass}, rank: mutateChoice(func(r placement.Request, c *placement.Choice) {
			if len(r.Prefer) > 0 && c.Eligible && r.Prefer[0] == c.Cluster {
				c.Score += most
			}
		})},
		{mistake: "placement forgets weights", invariants: []string{rankWeight}, rank: mutateCluster(func(c *placement.Cluster) { c.Weight = 1 })},
		{mistake: "placement forgets troubles", invariants: []string{rankHealth}, rank: mutateCluster(func(c *placement.Cluster) { c.Troubles = 0 })},
		{mistake: "placement believes degraded clusters", invariants: []string{rankDegraded}, rank: mutateCluster(func(c *placement.Cluster) { c.Degraded = "" })},
		{mistake: "placement takes what is not known for room", invariants: []string{rankClass}, rank: mutateChoice(func(_ placement.Request, c *placement.Choice) {
			if c.Reason == placement.Unknown {
				c.Score += most
			}
		})},
		{mistake: "placement passes the head of a strict queue", invariants: []string{rankStrictQueue}, rank: mutateCapacity(func(_ *placement.Capacity, q *placement.Queue, _ *placement.FlavorQuota) {
			q.Strict = false
		})},
		{mistake: "placement lets a workload wait for its own copy", invariants: []string{rankStrictQueue}, rank: mutateCluster(func(c *placement.Cluster) { c.Offered = false })},
		{mistake: "placement lets a workload wait for lower priorities", invariants: []string{rankStrictQueue}, rank: mutateCapacity(func(_ *placement.Capacity, q *placement.Queue, _ *placement.FlavorQuota) {
			q.Waiting = slices.Clone(q.Waiting)
			for i := range q.Waiting {
				q.Waiting[i].Priority = 1
			}
		})},
		{mistake: "placement forgets who waits where nobody has room", invariants: []string{rankQueue}, rank: mutateCapacity(func(_ *placement.Capacity, q *placement.Queue, _ *placement.FlavorQuota) {
			if !q.Strict {
				q.Waiting = nil
			}
		})},
		{mistake: "placement forgets whom a workload may preempt", invariants: []string{rankClass}, rank: mutateCapacity(func(_ *placement.Capacity, _ *placement.Queue, room *placement.FlavorQuota) {
			room.Preempting = nil
		})},
		{mistake: "placement lets anybody preempt", invariants: []string{rankPriority}, rank: mutateCapacity(func(_ *placement.Capacity, _ *placement.Queue, room *placement.FlavorQuota) {
			room.Preempting = slices.Clone(room.Preempting)
			for i := range room.Preempting {
				room.Preempting[i].Priority = -1
			}
		})},
		{mistake: "placement takes what it could preempt for free", invariants: []string{rankClass}, rank: preempting},
		{mistake: "placement spreads gangs like pods", invariants: []string{rankGang}, rank: mutateRequest(func(r *placement.Request) {
			for i := range r.PodSets {
				set := &r.PodSets[i]
				each := amount.Vector(nil)
				for _, want := range set.Requests {
					each = append(each, amount.Request{Resource: want.Resource, Amount: want.Amount.Times(int64(set.Count))})
				}
				set.Requests, set.Count = each, 1
			}
		})},
		{mistake: "placement packs pods like gangs", invariants: []string{rankGang}, rank: mutateRequest(func(r *placement.Request) {
			r.PodSets = append(r.PodSets, admission.PodSet{Name: "nothing", Count: 1})
		})},
		{mistake: "placement orders equals backwards", invariants: []string{rankName}, rank: func(r placement.Request, fleet []placement.Cluster) []placement.Choice {
			list := placement.Rank(r, fleet)
			slices.SortStableFunc(list, func(a, b placement.Choice) int {
				return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Cluster, a.Cluster))
			})
			return list
		}},
	}
}

// mutantsOfGates are careless about whose preemption they allow, and workers about whose job they let run.
func mutantsOfGates() []mutant {
	return []mutant{
		{mistake: "opens the gate of everybody who signals", invariants: []string{invPreemptionGates}, step: func(s dispatch.State, o dispatch.Observation, p dispatch.Policy) dispatch.Plan {
			plan := dispatch.Step(s, o, p)
			if !p.OrchestratePreemption || plan.Reason != dispatch.Offered || plan.Stores {
				return plan
			}
			for _, v := range o.Clusters {
				if v.Link.State == dispatch.Connected && v.Copy.Epoch == s.Epoch && isBlockedOnGate(v) {
					plan.Actions = append(plan.Actions, dispatch.Action{Verb: dispatch.OpenGate, Cluster: v.Name, Epoch: s.Epoch})
				}
			}
			return plan
		}},
		{mistake: "gives an opened gate no time", invariants: []string{invPreemptionGates}, step: mutateInput(func(_ *dispatch.State, _ *dispatch.Observation, p *dispatch.Policy) {
			p.GateTimeout = 1
		})},
		{mistake: "forgets whom it asked to open a gate", invariants: []string{invPreemptionGates}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			v.Offer.GateRequested, v.Offer.GateFirstRequestedAt, v.Offer.GateRequestedAt = false, time.Time{}, time.Time{}
		}))},
		{mistake: "takes the gates on lost clusters for closed", rare: true, invariants: []string{invPreemptionGates}, step: mutateInput(mutateViews(func(_ dispatch.State, v *dispatch.ClusterView) {
			if v.Link.State != dispatch.Connected {
				v.Copy.GateClosed, v.Offer.GateRequestedAt = true, time.Time{}
			}
		}))},
		{mistake: "opens no gate", invariants: []string{invProgress}, step: mutateOutput(func(_ dispatch.State, plan *dispatch.Plan) {
			plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a dispatch.Action) bool { return a.Verb == dispatch.OpenGate })
		})},
	}
}
