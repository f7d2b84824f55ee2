package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/admissioncheck/multikueue/wire"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/demand"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// fit says of each cluster how well the Workload fits there, for the dispatcher that wants to know and as long as it looks
// for one.
func (r *Resolver) fit(ctx context.Context, s *subject) {
	l := s.observed.Local
	chooses := s.policy.Dispatcher == dispatch.BestFit && s.state.Bound == ""
	if !chooses && !moves(s) || !l.QuotaReserved || l.Finished || l.Deleted || l.Evicted {
		return
	}
	s.policy.HedgeAfter = r.flights.patienceWith(s.state.Nominated)
	field := r.field(ctx, s)
	s.choices = placement.Rank(r.request(s), field)
	s.kept = r.keptFrom(s, field)
	for i := range s.observed.Clusters {
		v := &s.observed.Clusters[i]
		at := slices.IndexFunc(s.choices, func(c placement.Choice) bool { return c.Cluster == v.Name })
		if at < 0 {
			continue
		}
		choice := &s.choices[at]
		v.Fit, v.Preempting = dispatch.Fit{Score: choice.Score, Message: kube.Sanitize(choice.Message, wire.MaxText)}, choice.Preempting()
		if !choice.Eligible {
			v.Fit.Reason = dispatch.Reason(choice.Reason)
		}
	}
}

// keptFrom are the clusters that the Workload cannot be offered for what they say of themselves.
func (r *Resolver) keptFrom(s *subject, field []placement.Cluster) []keptFrom {
	var kept []keptFrom
	for _, choice := range s.choices {
		if choice.Eligible || choice.Reason == placement.Cordoned || choice.Reason == placement.Refused {
			continue
		}
		at := slices.IndexFunc(field, func(c placement.Cluster) bool { return c.Name == choice.Cluster })
		kept = append(kept, keptFrom{choice.Cluster, r.capacities.terms(choice.Cluster, field[at].Capacity, localOf(s.original.Workload))})
	}
	return kept
}

// localOf is the LocalQueue of a Workload.
func localOf(wl *kueue.Workload) admission.Key {
	return admission.Key{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
}

// moves reports whether the Workload is to leave the cluster that it is bound to, if another can take it.
func moves(s *subject) bool {
	return slices.ContainsFunc(s.observed.Clusters, func(v dispatch.ClusterView) bool { return v.Draining && v.Name == s.state.Bound })
}

// request is what the Workload asks of a cluster.
func (r *Resolver) request(s *subject) placement.Request {
	wl := s.original.Workload
	request := placement.Request{
		Namespace: wl.Namespace, LocalQueue: string(wl.Spec.QueueName), Priority: workload.Priority(wl, false),
		Prefer: s.prefers,
	}
	request.PodSets, request.Assumed = podSetsOf(wl, &r.Demand)
	if kind := s.original.Kind; kind != nil {
		request.Kind = reportedAs(kind)
	}
	for _, v := range s.observed.Clusters {
		if c := v.Copy; c.Holder == dispatch.Ours && c.Epoch == s.state.Epoch && (c.Refused || c.Evicted) {
			request.Refused = append(request.Refused, placement.Refusal{Cluster: v.Name, Because: c.Waiting})
		}
	}
	slices.SortFunc(request.Refused, func(a, b placement.Refusal) int { return strings.Compare(a.Cluster, b.Cluster) })
	return request
}

// podSetsOf is what a Workload asks for by the hub's rules about resources, and the resources that only those rules make of what
// its pods ask for: the copies have the pods as they are, and every cluster goes by rules of its own.
func podSetsOf(wl *kueue.Workload, rules *demand.Rules) (sets []admission.PodSet, assumed []string) {
	sets = make([]admission.PodSet, 0, len(wl.Spec.PodSets))
	var asked []string
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		set := view.ConvertPodSet(ps)
		if ps.MinCount != nil && *ps.MinCount < ps.Count {
			set.MinCount = *ps.MinCount
		}
		set.Requests, _ = rules.Of(&ps.Template.Spec, demand.Surroundings{})
		sets = append(sets, set)
		if len(rules.Transformations) > 0 {
			plain, _ := (&demand.Rules{}).Of(&ps.Template.Spec, demand.Surroundings{})
			asked, assumed = appendNames(asked, plain), appendNames(assumed, set.Requests)
		}
	}
	assumed = slices.DeleteFunc(assumed, func(name string) bool { return slices.Contains(asked, name) })
	slices.Sort(assumed)
	return sets, slices.Compact(assumed)
}

func appendNames(names []string, requests amount.Vector) []string {
	for _, r := range requests {
		names = append(names, r.Resource)
	}
	return names
}

// field is the fleet as placement wants it: the clusters of the config that can be reached.
func (r *Resolver) field(ctx context.Context, s *subject) []placement.Cluster {
	var field []placement.Cluster
	for _, v := range s.observed.Clusters {
		if !v.InConfig || v.Link.State != dispatch.Connected {
			continue
		}
		capacity := r.capacity(v.Name, s.observed.Now)
		cluster := placement.Cluster{
			Name: v.Name, Capacity: capacity, Cordoned: v.Cordoned, Degraded: v.Degraded, OnTrial: v.OnTrial, Weight: r.notes(ctx, s, v.Name).weight,
			Offered: v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == s.state.Epoch,
		}
		cluster.Troubles = r.flights.troubles(v.Name, s.observed.Now)
		var counted time.Time
		if capacity != nil {
			counted = capacity.At
		}
		cluster.InFlight = r.flights.inFlight(v.Name, s.key(), counted, s.observed.Now)
		field = append(field, cluster)
	}
	return field
}

// assume enters into the books what a plan is about to do, so that the next Workload is not offered the same room.
func (r *Resolver) assume(s *subject, plan dispatch.Plan) {
	for i := range s.choices {
		choice := &s.choices[i]
		if slices.Contains(plan.Next.Nominated, choice.Cluster) && !slices.Contains(s.state.Nominated, choice.Cluster) {
			r.flights.nominate(choice.Cluster, s.key(), choice.Claims, s.observed.Now)
		}
	}
}

// keepBooks brings the books up to date with what is stored and seen, and remembers whom news of capacity concern.
func (r *Resolver) keepBooks(s *subject, plan dispatch.Plan) {
	l, key := s.observed.Local, s.key()
	r.starving.set(key, starvedOf(s))
	switch {
	case l.Deleted || l.Finished:
		r.flights.only(key)
		return
	case !l.QuotaReserved || s.state.Retreating():
		r.flights.ended(key)
		return
	}
	wanted := slices.Concat(s.state.Nominated, plan.Next.Nominated)
	if s.state.Bound != "" {
		wanted = []string{s.state.Bound}
	}
	r.flights.only(key, wanted...)
	for _, v := range s.observed.Clusters {
		if v.Name != s.state.Bound && !slices.Contains(s.state.Nominated, v.Name) {
			continue
		}
		r.flights.stored(v.Name, key, reservedAt(v.Copy), s.observed.Now)
	}
}

// reservedAt is when a copy got quota; zero while it has none.
func reservedAt(c dispatch.Copy) time.Time {
	if !c.Quota {
		return time.Time{}
	}
	return c.Since
}
