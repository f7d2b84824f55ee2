package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

// listMembers lists the hub's pods that own a Workload, by name. One that has lost its gate runs on the hub.
func (r *WorkloadReconciler) listMembers(ctx context.Context, wl *kueue.Workload, own hubworkload.Owner) ([]client.Object, error) {
	var members []client.Object
	for _, ref := range wl.OwnerReferences {
		if schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != own.GVK.GroupKind() {
			continue
		}
		pod := &corev1.Pod{}
		err := r.Members.Get(ctx, types.NamespacedName{Namespace: wl.Namespace, Name: ref.Name}, pod, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read pod %s/%s: %w", wl.Namespace, ref.Name, err)
		}
		if err == nil && pod.UID == ref.UID && podmeta.IsGated(pod) {
			members = append(members, pod)
		}
	}
	slices.SortFunc(members, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return members, nil
}

// remoteMembers are the members that a cluster shows, of the current epoch and ours.
func (r *WorkloadReconciler) remoteMembers(s *workloadScope, cluster string) []client.Object {
	o := s.original
	return slices.DeleteFunc(r.Fleet.ListForWorkload(cluster, o.Kind.GVK(), o.Key()), func(obj client.Object) bool {
		return !isOfEpoch(obj, s.state.Epoch) || o.ObserveJob(obj).Holder != dispatch.Ours
	})
}

// copyMembers shows on the hub's pods how those on the bound cluster do, or that none of them runs while no cluster is bound.
func (r *WorkloadReconciler) copyMembers(ctx context.Context, s *workloadScope) error {
	o := s.original
	if !job.HasMembers(o.Kind) || s.state.Retreating() {
		return nil
	}
	if s.state.Bound == "" {
		return r.changeMembers(ctx, s, func(of mirror.Original) (client.Object, bool) {
			next, changed, _ := of.WithStatus(of.JobCopy(s.state.Epoch, false))
			return next, changed
		})
	}
	remote := map[types.UID]client.Object{}
	for _, obj := range r.remoteMembers(s, s.state.Bound) {
		remote[mirror.MemberUID(obj)] = obj
	}
	return r.showMembers(ctx, s, remote)
}

// showMembers shows on the hub's pods how those on a worker do: at once that one has ended, or has become ready, and the rest when it is due. So
// a worker whose pods change all the time costs the hub no more than that.
func (r *WorkloadReconciler) showMembers(ctx context.Context, s *workloadScope, remote map[types.UID]client.Object) error {
	w := trackedWorkload(s.original)
	due := readTracker(r.tracker, func(t *tracker.Tracker) time.Time { return t.StatusCopiedAt(w) }).Add(statusCopyInterval)
	shown := false
	err := r.changeMembers(ctx, s, func(of mirror.Original) (client.Object, bool) {
		there := remote[of.Job.GetUID()]
		if there == nil {
			return nil, false
		}
		next, changed, _ := of.WithStatus(there)
		if changed && s.observed.Now.Before(due) && !podmeta.IsNews(of.Job, next) {
			s.retryAt = kube.Earliest(s.retryAt, due)
			return nil, false
		}
		shown = shown || changed
		return next, changed
	})
	if shown {
		r.tracker.do(func(t *tracker.Tracker) { t.StatusCopied(w, s.observed.Now) })
	}
	return err
}

// endMembers makes the hub's pods show that they have ended, as nothing on a worker can show it any more.
func (r *WorkloadReconciler) endMembers(ctx context.Context, s *workloadScope, success bool, message string) error {
	kind, ok := s.original.Kind.(job.Membered)
	if !ok {
		return nil
	}
	return r.changeMembers(ctx, s, func(of mirror.Original) (client.Object, bool) {
		next, ok := of.Job.DeepCopyObject().(client.Object)
		return next, ok && kind.MarkEnded(next, success, message)
	})
}

// changeMembers writes the status of those of the hub's pods of which change returns another one. What the hub's API server refuses is not
// shown: whatever a worker says, it keeps the hub from nothing.
func (r *WorkloadReconciler) changeMembers(ctx context.Context, s *workloadScope, change func(mirror.Original) (client.Object, bool)) error {
	for i, local := range s.original.Members {
		if r.writes.IsNewerThan(local, r.Clock.Now()) {
			s.retryAt = kube.Earliest(s.retryAt, s.observed.Now.Add(cacheEchoDelay))
			continue
		}
		of := s.original
		of.Job = local
		next, changed := change(of)
		if !changed {
			continue
		}
		wrote, err := kube.PatchStatus(ctx, r.Client, local, next)
		switch {
		case apierrors.IsInvalid(err):
			ctrl.LoggerFrom(ctx).Info("The status of a pod on a worker cannot be shown", "pod", local.GetName(), "cluster", s.state.Bound, "reason", err.Error())
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("copy the status of pod %s/%s: %w", local.GetNamespace(), local.GetName(), err)
		case wrote && err == nil:
			r.writes.Record(next, r.Clock.Now())
			s.original.Members[i] = next
		}
	}
	return nil
}

// syncMembers returns what makes the members of a group on the bound cluster, where some run, those of the hub. A pod that has run there stays, by
// its finalizer, until the group has ended: one that is not there was never made, unless somebody has forced it away. One that was seen to run
// is not made again in any case, nor is one that has no finalizer.
func (r *WorkloadReconciler) syncMembers(s *workloadScope, v dispatch.ClusterView) []fleet.Action {
	o, l := s.original, s.observed.Local
	if !job.HasMembers(o.Kind) || !workload.IsGroup(o.Workload) || s.state.Bound != v.Name || s.state.Retreating() || v.Job.Holder != dispatch.Ours ||
		!runsAsAdmitted(v.Copy, s.state.Epoch) || l.Deleted || l.Finished || l.Quota.Evicted || !l.Quota.Reserved {
		return nil
	}
	changes := mirror.MemberChanges{Confirm: r.confirmMember(o.Workload.Namespace)}
	there, here := map[string]bool{}, map[types.UID]bool{}
	for _, obj := range r.Fleet.ListForWorkload(v.Name, o.Kind.GVK(), o.Key()) {
		there[obj.GetName()] = true
	}
	id := fmt.Sprintf("SyncMembers/%d", s.state.Epoch)
	for _, m := range o.Members {
		here[m.GetUID()] = m.GetDeletionTimestamp().IsZero()
		if pod, ok := m.(*corev1.Pod); ok && here[pod.UID] && !there[pod.Name] && pod.Status.Phase == corev1.PodPending &&
			!podmeta.HasSuspendingParent(pod) {
			changes.Missing = append(changes.Missing, m)
			id += "/" + string(m.GetUID())
		}
	}
	for _, m := range r.remoteMembers(s, v.Name) {
		if !here[mirror.MemberUID(m)] && m.GetDeletionTimestamp().IsZero() {
			changes.Surplus = append(changes.Surplus, m)
			id += "/" + string(m.GetUID())
		}
	}
	if len(changes.Missing)+len(changes.Surplus) == 0 {
		return nil
	}
	epoch := s.state.Epoch
	return []fleet.Action{{ID: id, CreatesObjects: true, Run: func(ctx context.Context, c client.Client) (any, error) {
		return nil, o.SyncMembers(ctx, c, epoch, r.NameInLabel, changes)
	}}}
}

// runsAsAdmitted tells whether a copy is one by which members may run.
func runsAsAdmitted(c dispatch.Copy, epoch int64) bool {
	return c.Holder == dispatch.Ours && (c.Epoch == epoch || c.Epoch == 0 && epoch == 1) && c.Admitted && c.Finished == nil && !c.Evicted &&
		!c.Deactivating && !c.Deleting
}

// confirmMember asks the hub's API server whether there is that pod, and whether it is to stay.
func (r *WorkloadReconciler) confirmMember(namespace string) func(context.Context, string, types.UID) (bool, error) {
	return func(ctx context.Context, name string, uid types.UID) (bool, error) {
		pod := &corev1.Pod{}
		err := r.APIReader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, pod)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("make sure of pod %s/%s: %w", namespace, name, err)
		}
		return pod.UID == uid && pod.DeletionTimestamp.IsZero(), nil
	}
}
