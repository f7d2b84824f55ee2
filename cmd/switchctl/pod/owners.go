package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/cmd/switchctl/kubeclient"
)

// maxOwners is how many owners a pod may have between itself and its job. One of an AppWrapper's RayJob has three.
const maxOwners = 6

// ownerWalk goes from pods up to their jobs, and reads each owner once.
type ownerWalk struct {
	target

	seen map[metav1.OwnerReference][]metav1.OwnerReference
}

// listOwned are the pods in the namespace that belong to the job by their owners.
func (t target) listOwned(ctx context.Context) ([]corev1.Pod, error) {
	var all corev1.PodList
	if err := kubeclient.ListObjects(ctx, t, &all, client.InNamespace(t.namespace)); err != nil {
		return nil, err
	}
	walk := ownerWalk{target: t, seen: map[metav1.OwnerReference][]metav1.OwnerReference{}}
	var owned []corev1.Pod
	for i := range all.Items {
		belongs, err := walk.reachesJob(ctx, all.Items[i].OwnerReferences)
		if err != nil {
			return nil, err
		}
		if belongs {
			owned = append(owned, all.Items[i])
		}
	}
	return owned, nil
}

// reachesJob tells whether the job is among the owners of an object, or among theirs.
func (w ownerWalk) reachesJob(ctx context.Context, owners []metav1.OwnerReference) (bool, error) {
	for range maxOwners {
		owner := controllerOf(owners)
		if owner == nil {
			return false, nil
		}
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil {
			return false, nil //nolint:nilerr // not a job of ours
		}
		kind := w.job.Kind()
		if gv.Group == kind.Group && owner.Kind == kind.Kind && owner.Name == w.job.Name() {
			return true, nil
		}
		if owners, err = w.ownersOf(ctx, *owner); err != nil {
			return false, err
		}
	}
	return false, nil
}

// ownersOf are the owners of an owner; none if that does not exist any more, or cannot be seen.
func (w ownerWalk) ownersOf(ctx context.Context, owner metav1.OwnerReference) ([]metav1.OwnerReference, error) {
	owner.Controller, owner.BlockOwnerDeletion = nil, nil
	if found, ok := w.seen[owner]; ok {
		return found, nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(owner.APIVersion)
	obj.SetKind(owner.Kind)
	err := w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: owner.Name}, obj)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return nil, err
	}
	w.seen[owner] = obj.GetOwnerReferences()
	return w.seen[owner], nil
}

// controllerOf is the owner that manages an object, or else its first.
func controllerOf(owners []metav1.OwnerReference) *metav1.OwnerReference {
	if controller := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: owners}); controller != nil {
		return controller
	}
	if len(owners) > 0 {
		return &owners[0]
	}
	return nil
}
