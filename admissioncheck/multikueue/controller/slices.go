package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// The slices of an elastic job that runs on another cluster (contract: job-kinds.md 15): which of them there are. What they are to each other is
// hubworkload.ObserveSlice.

// listSlices lists the other Workloads of the same elastic job. They are the cache's own.
func listSlices(ctx context.Context, c client.Reader, wl *kueue.Workload) ([]*kueue.Workload, error) {
	owner, ok := hubworkload.LookupOwner(wl)
	ref := metav1.GetControllerOfNoCopy(wl)
	if !ok || ref == nil || !workload.IsElastic(wl) {
		return nil, nil
	}
	list := &kueue.WorkloadList{}
	err := c.List(ctx, list, client.InNamespace(wl.Namespace), client.MatchingFields{hubworkload.ByOwner: owner.IndexValue()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the slices of %s %s: %w", owner.GVK.Kind, owner.Name, err)
	}
	var slices []*kueue.Workload
	for i := range list.Items {
		other := &list.Items[i]
		of := metav1.GetControllerOfNoCopy(other)
		if other.Name != wl.Name && of != nil && of.UID == ref.UID && workload.IsElastic(other) && workload.SliceName(other) == workload.SliceName(wl) {
			slices = append(slices, other)
		}
	}
	return slices, nil
}

// observeSlice says what the Workload is among the slices of its job.
func (r *WorkloadReconciler) observeSlice(ctx context.Context, s *workloadScope) (dispatch.Slice, error) {
	wl := s.original.Workload
	if !workload.IsElastic(wl) {
		return dispatch.Slice{}, nil
	}
	others, err := listSlices(ctx, r.Client, wl)
	if err != nil {
		return dispatch.Slice{}, err
	}
	for _, other := range others {
		if r.writes.IsNewerThan(other, r.Clock.Now()) {
			return dispatch.Slice{}, errSliceBehind // what that has recorded may be this one's
		}
	}
	l := hubworkload.ObserveSlice(wl, others)
	s.original.Slice.Passive = l.Passive
	s.original.Slice.Earlier = hubworkload.EarlierSlices(wl, others)
	return l, nil
}

// isSliceJob tells of a job on a worker whose Workload the hub does not have any more that another slice of its chain has it.
func (f *orphanFinder) isSliceJob(ctx context.Context, cluster string, orphan mirror.Original) bool {
	seen := f.remote.lookupRemote(cluster, orphan)
	if seen.Job == nil || orphan.Kind == nil {
		return false
	}
	chain := seen.Job.GetAnnotations()[kueue.WorkloadSliceNameAnnotation]
	list := &kueue.WorkloadList{}
	owner := hubworkload.Owner{GVK: orphan.Kind.GVK(), Name: orphan.JobName}
	err := f.client.List(ctx, list, client.InNamespace(orphan.Workload.Namespace), client.MatchingFields{hubworkload.ByOwner: owner.IndexValue()}, client.UnsafeDisableDeepCopy)
	if chain == "" || err != nil {
		return err != nil // it is looked at again
	}
	for i := range list.Items {
		if hubworkload.HasJobOf(&list.Items[i], chain) {
			return true
		}
	}
	return false
}

// sliceChanged passes the changes of a slice that matter to the others of its job: whether it is the one that has the job, and whether the
// cluster has admitted it.
func sliceChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool { return workload.IsElastic(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := e.ObjectOld.(*kueue.Workload)
			is, okay := e.ObjectNew.(*kueue.Workload)
			if !ok || !okay || !workload.IsElastic(is) {
				return false
			}
			return hubworkload.IsInDispatch(was) != hubworkload.IsInDispatch(is) || hubworkload.IsYetToBeAdmitted(was) != hubworkload.IsYetToBeAdmitted(is) || workload.HasQuota(was) != workload.HasQuota(is) ||
				workload.IsFinished(was) != workload.IsFinished(is)
		},
	}
}

// requestsForSlices lists the other slices of the same job.
func (w *workloadIndex) requestsForSlices(ctx context.Context, obj client.Object) []reconcile.Request {
	wl, ok := obj.(*kueue.Workload)
	if !ok {
		return nil
	}
	others, err := listSlices(ctx, w.client, wl)
	if err != nil {
		log.FromContext(ctx).Error(err, "List the slices of a job")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(others))
	for _, other := range others {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
	}
	return requests
}
