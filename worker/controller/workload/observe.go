package workload

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

// observe reads what the lifecycle may look at.
func (r *Reconciler) observe(ctx context.Context, wl *kueue.Workload) (lifecycle.Observation, error) {
	o := lifecycle.Observation{
		Now: r.Clock.Now(), AdmissionGates: workload.AdmissionGates(wl), AdmissionGateAnnotation: wl.Annotations[kueue.AdmissionGatedByAnnotation],
		Owned: workload.HasOwner(wl), Deleting: !wl.DeletionTimestamp.IsZero(), Policy: r.Policy,
	}
	if workload.IsRemoteCopy(wl) { // its hub has to see how it ended, and deletes it then
		o.Policy.FinishedRetention, o.Policy.DeactivatedRetention, o.Policy.FinishOrphans = nil, nil, false
		o.Policy.OwnerGracePeriod = 0 // nobody plays the owner of a copy that no job has taken up
	}
	var err error
	if o.OwnerGone, err = r.isOwnerDeleted(ctx, wl); err != nil {
		return o, err
	}
	if o.Deleting || workload.IsFinished(wl) {
		return o, nil
	}
	if o.ClassPriority, err = r.classPriority(ctx, wl); err != nil {
		return o, err
	}
	err = r.observeQueues(ctx, wl, &o)
	return o, err
}

// observeQueues reads how the queues of the Workload stand to it.
func (r *Reconciler) observeQueues(ctx context.Context, wl *kueue.Workload, o *lifecycle.Observation) error {
	lq, err := r.localQueue(ctx, wl)
	if err != nil {
		return err
	}
	o.LocalQueue = lifecycle.Queue{Name: string(wl.Spec.QueueName), State: localQueueState(lq)}
	name := clusterQueueOf(wl, lq)
	if name == "" {
		return nil
	}
	cq, err := r.clusterQueue(ctx, name)
	if err != nil {
		return err
	}
	o.ClusterQueue = lifecycle.Queue{Name: name, State: clusterQueueState(cq)}
	if cq != nil {
		o.Checks = workload.ApplicableChecks(cq, wl.Status.Admission)
	}
	return nil
}

// clusterQueueOf is the ClusterQueue that holds the reservation, else the one that the LocalQueue points to, else none.
func clusterQueueOf(wl *kueue.Workload, lq *kueue.LocalQueue) string {
	switch {
	case wl.Status.Admission != nil:
		return string(wl.Status.Admission.ClusterQueue)
	case lq != nil:
		return string(lq.Spec.ClusterQueue)
	default:
		return ""
	}
}

// localQueue returns the Workload's LocalQueue; nil when there is none.
func (r *Reconciler) localQueue(ctx context.Context, wl *kueue.Workload) (*kueue.LocalQueue, error) {
	lq := &kueue.LocalQueue{}
	key := client.ObjectKey{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
	if err := r.Client.Get(ctx, key, lq, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read LocalQueue %s: %w", key, err)
	}
	return lq, nil
}

// clusterQueue returns a ClusterQueue; nil when there is none.
func (r *Reconciler) clusterQueue(ctx context.Context, name string) (*kueue.ClusterQueue, error) {
	cq := &kueue.ClusterQueue{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, cq, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read ClusterQueue %s: %w", name, err)
	}
	return cq, nil
}

// localQueueState is what a LocalQueue means for its workloads: that it is missing, stopped, or neither.
func localQueueState(lq *kueue.LocalQueue) lifecycle.QueueState {
	if lq == nil {
		return lifecycle.QueueMissing
	}
	return stopState(lq, lq.Spec.StopPolicy)
}

// clusterQueueState returns what the ClusterQueue allows its workloads. A stop policy goes before the condition Active.
func clusterQueueState(cq *kueue.ClusterQueue) lifecycle.QueueState {
	if cq == nil {
		return lifecycle.QueueMissing
	}
	state := stopState(cq, cq.Spec.StopPolicy)
	if state == lifecycle.QueueOpen && meta.IsStatusConditionFalse(cq.Status.Conditions, kueue.ClusterQueueActive) {
		return lifecycle.QueueInactive
	}
	return state
}

// stopState returns what a queue's stop policy allows. A queue that is being deleted counts as held.
func stopState(queue client.Object, policy kueue.StopPolicy) lifecycle.QueueState {
	switch {
	case policy == kueue.HoldAndDrain:
		return lifecycle.QueueDraining
	case policy == kueue.Hold, !queue.GetDeletionTimestamp().IsZero():
		return lifecycle.QueueHeld
	default:
		return lifecycle.QueueOpen
	}
}

// isOwnerDeleted tells whether a live read finds that the controller owner exists no more. That a cache does not have it would
// be no evidence; that we may not read it is none either. Owners of handled kinds are not asked for, and none whose absence
// would change nothing.
func (r *Reconciler) isOwnerDeleted(ctx context.Context, wl *kueue.Workload) (bool, error) {
	ref := metav1.GetControllerOf(wl)
	if ref == nil {
		return isOrphaned(wl), nil
	}
	guarded := controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer)
	over := workload.IsFinished(wl) || !wl.DeletionTimestamp.IsZero()
	if r.Handles(ref) || over && !guarded || !over && (!r.Policy.FinishOrphans || workload.IsRemoteCopy(wl)) {
		return false, nil
	}
	owner := &metav1.PartialObjectMetadata{}
	owner.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: wl.Namespace, Name: ref.Name}, owner)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read owner %s %s/%s: %w", ref.Kind, wl.Namespace, ref.Name, err)
	}
	return owner.UID != ref.UID, nil
}

// isOrphaned tells of a Workload that had an owner, as its label says, and has none any more: the job was deleted and its dependents were to
// stay (contract: messages.md 5.7). One with neither is a user's own.
func isOrphaned(wl *kueue.Workload) bool {
	return len(wl.OwnerReferences) == 0 && wl.Labels[kueue.JobUIDLabel] != "" && !workload.IsRemoteCopy(wl)
}
