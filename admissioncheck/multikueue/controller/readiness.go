package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// reportReadiness says in the hub's Workload whether its pods on the bound cluster are ready, if nothing on the hub shows that: without a word the
// hub would take them for pods that never become ready, and evict them.
func (r *WorkloadReconciler) reportReadiness(ctx context.Context, s *workloadScope) error {
	wl, l := s.original.Workload, s.observed.Local
	if !job.IsServing(s.original.Kind) || !r.WaitForPodsReady || s.state.Bound == "" || s.state.Retreating() || l.Deleted || l.Finished || l.Quota.Evicted || !workload.IsAdmitted(wl) {
		return nil
	}
	condition := s.nextReadiness(areReadyThere(s.originalOn(s.state.Bound), r.remote.lookupRemote(s.state.Bound, s.original), s.state.Epoch))
	if condition == nil {
		return nil
	}
	err := job.NewWriter(r.Client, r.Clock).ApplyStatus(ctx, wl, kueue.JobControllerManagerPrefix+condition.Type,
		map[string]any{"conditions": []metav1.Condition{*condition}})
	return client.IgnoreNotFound(err)
}

// nextReadiness is what the Workload is to say of its pods, nil if nothing else than it does. A worker that changes its mind all the time costs the
// hub no more writes than the status of a job that does.
func (s *workloadScope) nextReadiness(ready bool) *metav1.Condition {
	wl := s.original.Workload
	next, said := job.PodsReadyCondition(wl, ready, s.observed.Now), meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	if next == nil || said == nil {
		return next
	}
	if due := said.LastTransitionTime.Add(statusCopyInterval); s.observed.Now.Before(due) && !said.LastTransitionTime.After(s.observed.Now) {
		s.retryAt = kube.Earliest(s.retryAt, due)
		return nil
	}
	return next
}

// areReadyThere tells whether a cluster says that all pods of this epoch are ready: in its Workload if it waits for them itself, or in the status
// of what has them.
func areReadyThere(o mirror.Original, seen mirror.Found, epoch int64) bool {
	if seen.Workload == nil || o.ObserveWorkload(seen.Workload).Holder != dispatch.Ours || !isOfEpoch(seen.Workload, epoch) {
		return false
	}
	if meta.IsStatusConditionTrue(seen.Workload.Status.Conditions, kueue.WorkloadPodsReady) {
		return true
	}
	return o.ObserveJob(seen.Job).Holder == dispatch.Ours && o.Kind.Progress(seen.Job).Ready
}
