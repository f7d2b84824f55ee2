package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// observeSiblings says what the other Workloads of the same owner mean for this one: an owner with several Workloads, which bear
// their indexes, has all of them on one cluster. The first chooses it, the others wait for that (contract: multikueue.md 4
// case 8): the one with the lowest index, or the first name where indexes are equal or no numbers. A sibling that has finished or is
// going has no say.
func (r *WorkloadReconciler) observeSiblings(ctx context.Context, wl *kueue.Workload, l *dispatch.Local) {
	index, component := hubworkload.ComponentIndex(wl)
	if !component {
		return
	}
	siblings, err := hubworkload.ListSiblings(ctx, r.Client, wl)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of an owner")
		l.Siblings.Awaited = true
		return
	}
	first, here := true, hubworkload.DecodeState(wl)
	for i := range siblings {
		other := &siblings[i]
		at, _ := hubworkload.ComponentIndex(other)
		if state := hubworkload.DecodeState(other); state.Bound != "" && !state.Retreating() && (l.Siblings.Pin == "" || state.Bound < l.Siblings.Pin) {
			l.Siblings.Pin = state.Bound
		}
		l.Siblings.Left = l.Siblings.Left || hubworkload.HasLeft(other, here.Bound)
		first = first && (index < at || index == at && wl.Name < other.Name)
	}
	l.Siblings.Awaited = l.Siblings.Pin == "" && !first
}

// observeShare finds out, of a Workload that shares its job with siblings, on which clusters they hold it. Before there are as many of them as the
// job has groups, none may choose the cluster: it must have room for all (contract: job-kinds.md 13).
func (r *WorkloadReconciler) observeShare(ctx context.Context, s *workloadScope) error {
	kind, shared := s.original.Kind.(job.Shared)
	if !shared {
		return nil
	}
	siblings, err := hubworkload.ListSiblings(ctx, r.Client, s.original.Workload)
	if err != nil {
		return err
	}
	s.heldBySiblings = map[string]bool{}
	for i := range siblings {
		if state := hubworkload.DecodeState(&siblings[i]); state.Bound != "" && !state.Retreating() {
			s.heldBySiblings[state.Bound] = true
		}
	}
	l := &s.observed.Local
	if o := s.original; o.Job != nil && l.Siblings.Pin == "" && len(siblings)+1 < kind.GroupCount(o.Job) {
		l.Siblings.Awaited = true
	}
	return nil
}

// requestsForShared names the Workload under which an object is filed that a Workload which has gone shared with others: it may have been the
// last, so that the object is an orphan.
func (r *WorkloadReconciler) requestsForShared(_ context.Context, gone client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, integration := range r.Kinds {
		kind, shared := integration.(job.Shared)
		if !shared {
			continue
		}
		for _, state := range r.Fleet.States() {
			requests = append(requests, requestsForCopies(kind, r.Fleet.List(state.Cluster, kind.GVK()), gone)...)
		}
	}
	return requests
}

// requestsForCopies names the Workloads under which those of the objects are filed that are copies of what the Workload was of.
func requestsForCopies(kind job.Shared, objects []client.Object, gone client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, obj := range objects {
		of := obj.GetAnnotations()[kueue.MultiKueueOriginUIDAnnotation]
		if of != "" && of == gone.GetLabels()[kueue.JobUIDLabel] && obj.GetNamespace() == gone.GetNamespace() {
			key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: kind.FirstWorkload(obj)}
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// observeOrphanedShare finds out whether the hub has any Workload of an object that several share: then it is not an orphan.
func (r *WorkloadReconciler) observeOrphanedShare(ctx context.Context, s *workloadScope) error {
	o := s.original
	if o.Kind == nil || !job.IsShared(o.Kind) {
		return nil
	}
	list := &kueue.WorkloadList{}
	own := hubworkload.Owner{GVK: o.Kind.GVK(), Name: o.JobName}
	err := r.Client.List(ctx, list, client.InNamespace(o.Workload.Namespace), client.MatchingFields{hubworkload.ByOwner: own.IndexValue()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the workloads of %s %s: %w", own.GVK.Kind, own.Name, err)
	}
	s.sharedByOthers = len(list.Items) > 0
	return nil
}

// originalOn is the Original as it concerns a cluster.
func (s *workloadScope) originalOn(cluster string) mirror.Original {
	o := s.original
	if o.Kind == nil || !job.IsShared(o.Kind) {
		return o
	}
	o.Share = s.shareOn(cluster)
	return o
}

// shareOn says what the Workload has to do with the job that it shares. As long as it is bound to the cluster, and wanted, the job is its own.
// Otherwise it is one to be removed, by the last that has left the cluster.
func (s *workloadScope) shareOn(cluster string) mirror.Share {
	l, bound := s.observed.Local, s.state.Bound == cluster
	switch {
	case s.original.Deleted:
		return mirror.Share{Concerned: !s.sharedByOthers}
	case bound && !s.state.Retreating() && !l.Deleted && !l.Finished:
		return mirror.Share{Concerned: true, Epoch: s.state.Epoch}
	case s.heldBySiblings[cluster]:
		return mirror.Share{}
	}
	for _, d := range s.state.Debts {
		if d.Cluster == cluster {
			return mirror.Share{Concerned: true, Epoch: d.Epoch}
		}
	}
	return mirror.Share{Concerned: bound, Epoch: s.state.Epoch}
}

// isOwnShare tells whether the hub's job of a Workload's name is the one that it was made for: a Workload that shares one names no controller.
func isOwnShare(kind job.Integration, wl *kueue.Workload, local client.Object) bool {
	return !job.IsShared(kind) || types.UID(wl.Labels[kueue.JobUIDLabel]) == local.GetUID()
}
