package controller

import (
	"context"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/capacity"
	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// setFenceStatus says of a cluster whether a job there is stopped without the hub, and until when it may believe in the hub. What
// this program has not looked at itself is as the one before it has left it.
func setFenceStatus(v *dispatch.ClusterView, f fleet.Fencing, left clusterInfo) {
	v.Fence.RenewedAt = f.RenewedAt
	is := f.Held && f.FenceAlive
	if !f.RenewalStarted {
		is = left.fenced
	}
	v.Fence.Alive = is && (v.Copy.Holder != dispatch.Ours || v.Copy.StopsOnHubLost)
}

// setLeaseState sets whether a fence leaves objects with the stamp Stop alone. It does if the hub's lease is renewed, or if
// no fence goes by the lease. Jobs of some kinds are never stamped. A worker that does not let us look for a fence has one if
// it reports its capacity, as no other program does.
func (r *WorkloadReconciler) setLeaseState(v *dispatch.ClusterView, kind job.Integration, f fleet.Fencing, now time.Time) {
	reports := func() bool {
		return r.Fleet.GetFresh(v.Name, capacity.ReportGVK(), client.ObjectKey{Name: switchyard.CapacityReportName}) != nil
	}
	switch {
	case !supportsFencing(kind), f.Held && now.Before(f.ExpiresAt), f.FencePresence == fleet.FenceMissing, f.FencePresence == fleet.FenceUnknown && f.HasResult() && !reports():
		return
	case f.Expired:
		v.Fence.Lease = dispatch.LeaseLapsed
	default:
		v.Fence.Lease = dispatch.LeaseAwaited
	}
	v.Fence.LeaseTrouble = strings.ReplaceAll(f.Message, "\n", "; ")
}

// mayStampStop tells whether objects for a cluster may be stamped Stop. Where it is known that the lease cannot be renewed, a fence would
// stop every job with the stamp at once.
func (r *WorkloadReconciler) mayStampStop(cluster string) bool {
	state, ok := r.Fleet.State(cluster)
	return !ok || !state.Fencing.RenewalStarted || state.Fencing.Held && !state.Fencing.Expired
}

// requestLeaseRenewals requests the leases that are not held and that the Workload waits for.
func (r *WorkloadReconciler) requestLeaseRenewals(s *workloadScope) {
	if s.policy.OnHubLost != dispatch.Stop || s.state.Bound != "" {
		return
	}
	for _, v := range s.observed.Clusters {
		if v.Fence.Lease == dispatch.LeaseAwaited {
			r.Fleet.RequestLeaseRenewal(v.Name)
		}
	}
}

// IsLeaseNeeded tells whether something on a cluster depends on the run lease: a policy that says Stop, or an object there
// that was stamped under one.
func (r *WorkloadReconciler) IsLeaseNeeded(cluster string) bool {
	ctx := context.Background()
	if state, _ := r.Fleet.State(cluster); isReplaced(lookupClusterInfo(ctx, r.Client, &workloadScope{}, cluster).identity, state) {
		return false // it would be said of the cluster before that it has heard of us
	}
	configs := &kueue.MultiKueueConfigList{}
	if err := r.Client.List(ctx, configs, client.MatchingFields{checkconfig.ByCluster: cluster}); err != nil {
		return true
	}
	for i := range configs.Items {
		if policy, _ := runpolicy.Effective(&configs.Items[i], nil); policy == switchyard.RunOnce {
			return true
		}
	}
	queues := &kueue.ClusterQueueList{}
	if err := r.Client.List(ctx, queues, client.MatchingFields{runpolicy.Index: string(switchyard.RunOnce)}); err != nil || len(queues.Items) > 0 {
		return true
	}
	return r.Fleet.AnyMatch(cluster, workloadGVK(), func(obj client.Object) bool {
		wl, ok := obj.(*kueue.Workload)
		return mirror.StopsWithoutHub(obj) && (!ok || !workload.IsFinished(wl)) // what has ended may be retained for long
	})
}

// supportsFencing reports whether a worker's fence can promise that jobs of a kind stop when the hub is out of reach. It can
// deactivate a Workload of an external kind, or of one that a JobKind declares, like any other; but whether the pods go then is up to a
// controller that this program does not know. Such jobs get no stamp, so that nothing counts on it: under run-once they wait for a
// cluster that is out of reach (fencing: none), and their Workloads say so beforehand.
func supportsFencing(kind job.Integration) bool { return kind == nil || job.IsFenced(kind) }
