package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/capacity"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	"switchyard.dev/admissioncheck/multikueue/wire"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// localQueueKey is the LocalQueue of a Workload.
func localQueueKey(wl *kueue.Workload) admission.Key {
	return admission.Key{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
}

// isLeavingCluster reports whether the Workload is to leave the cluster that it is bound to, if another can take it.
func isLeavingCluster(s *workloadScope) bool {
	return slices.ContainsFunc(s.observed.Clusters, func(v dispatch.ClusterView) bool { return v.Operator.Draining && v.Name == s.state.Bound })
}

// buildPodSets is what a Workload asks for by the hub's rules about resources, and the resources that only those rules make of what
// its pods ask for: the copies have the pods as they are, and every cluster goes by rules of its own.
func buildPodSets(wl *kueue.Workload, rules *podrequests.Rules) (sets []admission.PodSet, assumed []string) {
	sets = make([]admission.PodSet, 0, len(wl.Spec.PodSets))
	var asked []string
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		set := view.ConvertPodSet(ps)
		if ps.MinCount != nil && *ps.MinCount < ps.Count {
			set.MinCount = *ps.MinCount
		}
		set.Requests, _ = rules.Compute(&ps.Template.Spec, podrequests.Context{})
		sets = append(sets, set)
		if len(rules.Transformations) > 0 {
			plain, _ := (&podrequests.Rules{}).Compute(&ps.Template.Spec, podrequests.Context{})
			asked, assumed = appendResourceNames(asked, plain), appendResourceNames(assumed, set.Requests)
		}
	}
	assumed = slices.DeleteFunc(assumed, func(name string) bool { return slices.Contains(asked, name) })
	slices.Sort(assumed)
	return sets, slices.Compact(assumed)
}

func appendResourceNames(names []string, requests amount.Vector) []string {
	for _, r := range requests {
		names = append(names, r.Resource)
	}
	return names
}

// observeDone tells the tracker what was decided and carried out.
func (r *WorkloadReconciler) observeDone(s *workloadScope, plan dispatch.Plan) {
	r.tracker.do(func(t *tracker.Tracker) {
		t.Unplaced().Set(admissionKey(s.key()), newUnplaced(s))
		t.Observe(trackedWorkload(s.original), s.state, s.observed, plan)
		t.Expire(s.observed.Now)
	})
}

// capacityReportKind is the kind's name in capacity reports; empty if they cannot have it. Of an external kind a worker's engine knows
// nothing: that its API is served there is all that can be asked for.
func capacityReportKind(kind job.Integration) string {
	if job.IsExternal(kind) {
		return ""
	}
	gvk := kind.GVK()
	return gvk.Kind + "." + gvk.Version + "." + gvk.Group
}

// ranker asks placement how well a Workload fits on each cluster.
type ranker struct {
	client     client.Reader
	capacities *capacity.Cache
	tracker    *lockedTracker
	// rules are the hub's about the resources that a pod asks for.
	rules *podrequests.Rules
}

// rankClusters says of each cluster how well the Workload fits there, for the dispatcher that wants to know and as long as it looks
// for one.
func (k *ranker) rankClusters(ctx context.Context, s *workloadScope) {
	l := s.observed.Local
	chooses := s.policy.Dispatcher == dispatch.BestFit && s.state.Bound == ""
	if !chooses && !isLeavingCluster(s) || !l.Quota.Reserved || l.Finished || l.Deleted || l.Quota.Evicted {
		return
	}
	s.policy.HedgeAfter = readTracker(k.tracker, func(t *tracker.Tracker) time.Duration { return t.HedgeDelay(s.state.Nominated) })
	field := k.buildPlacementClusters(ctx, s)
	s.choices = placement.Rank(k.buildPlacementRequest(s), field)
	s.ineligible = k.listIneligibleClusters(s, field)
	for i := range s.observed.Clusters {
		v := &s.observed.Clusters[i]
		at := slices.IndexFunc(s.choices, func(c placement.Choice) bool { return c.Cluster == v.Name })
		if at < 0 {
			continue
		}
		choice := &s.choices[at]
		v.Fit = dispatch.Fit{Score: choice.Score, Message: kube.Sanitize(choice.Message, wire.MaxText), Preempting: choice.Preempting()}
		if !choice.Eligible {
			v.Fit.Reason = dispatch.Reason(choice.Reason)
		}
	}
}

// listIneligibleClusters are the clusters that the Workload cannot be offered for what they say of themselves.
func (k *ranker) listIneligibleClusters(s *workloadScope, field []placement.Cluster) []tracker.Ineligible {
	var kept []tracker.Ineligible
	for _, choice := range s.choices {
		if choice.Eligible || choice.Reason == placement.Cordoned || choice.Reason == placement.Refused {
			continue
		}
		at := slices.IndexFunc(field, func(c placement.Cluster) bool { return c.Name == choice.Cluster })
		kept = append(kept, tracker.Ineligible{Cluster: choice.Cluster, Terms: k.capacities.TermsFor(choice.Cluster, field[at].Capacity, localQueueKey(s.original.Workload))})
	}
	return kept
}

// buildPlacementRequest is what the Workload asks of a cluster.
func (k *ranker) buildPlacementRequest(s *workloadScope) placement.Request {
	wl := s.original.Workload
	request := placement.Request{
		Namespace: wl.Namespace, LocalQueue: string(wl.Spec.QueueName), Priority: workload.Priority(wl, false),
		Prefer: s.preferredClusters,
	}
	request.PodSets, request.Assumed = buildPodSets(wl, k.rules)
	if kind := s.original.Kind; kind != nil {
		request.Kind = capacityReportKind(kind)
	}
	for _, v := range s.observed.Clusters {
		if c := v.Copy; c.Holder == dispatch.Ours && c.Epoch == s.state.Epoch && (c.Refused || c.Evicted) {
			request.Refused = append(request.Refused, placement.Refusal{Cluster: v.Name, Message: c.WaitingMessage})
		}
	}
	slices.SortFunc(request.Refused, func(a, b placement.Refusal) int { return strings.Compare(a.Cluster, b.Cluster) })
	return request
}

// buildPlacementClusters is the fleet as placement wants it: the clusters of the config that can be reached.
func (k *ranker) buildPlacementClusters(ctx context.Context, s *workloadScope) []placement.Cluster {
	var field []placement.Cluster
	for _, v := range s.observed.Clusters {
		if !v.InConfig || v.Link.State != dispatch.Connected {
			continue
		}
		capacity := k.capacities.Lookup(v.Name, s.observed.Now)
		cluster := placement.Cluster{
			Name: v.Name, Capacity: capacity, Cordoned: v.Operator.Cordoned, Degraded: v.Health.Degraded, OnTrial: v.Health.OnTrial, Weight: lookupClusterInfo(ctx, k.client, s, v.Name).Weight,
			Offered: v.Copy.Holder == dispatch.Ours && v.Copy.Epoch == s.state.Epoch,
		}
		var reportedAt time.Time
		if capacity != nil {
			reportedAt = capacity.At
		}
		k.tracker.do(func(t *tracker.Tracker) {
			cluster.Troubles = t.Misses(v.Name, s.observed.Now)
			cluster.InFlight = t.InFlight(v.Name, admissionKey(s.key()), reportedAt, s.observed.Now)
		})
		field = append(field, cluster)
	}
	return field
}

// assumeNominations records what a plan is about to do, so that the next Workload is not offered the same quota.
func (k *ranker) assumeNominations(s *workloadScope, plan dispatch.Plan) {
	k.tracker.do(func(t *tracker.Tracker) {
		for i := range s.choices {
			choice := &s.choices[i]
			if slices.Contains(plan.Next.Nominated, choice.Cluster) && !slices.Contains(s.state.Nominated, choice.Cluster) {
				t.Assume(trackedWorkload(s.original), choice.Cluster, choice.Claims, s.observed.Now)
			}
		}
	})
}
