package job

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// PodOwners finds out whether a managed job pays for a pod, whatever the pod itself says.
type PodOwners struct {
	Options *Options
	// Cached reads from the cache. Live is asked for what is not there, and for objects of kinds that nobody manages here.
	Cached, Live client.Reader
	// Controls tells whether whoever asks for a pod may speak for the object that the pod names as its controller.
	Controls func(ctx context.Context, owner *metav1.OwnerReference, namespace string) (bool, error)
}

// podOwner is an object that made a pod, or whose controller made what made it.
type podOwner struct {
	object client.Object
	kind   Integration
	// external tells that another program manages objects of the kind.
	external bool
	// enabled tells that jobs of the kind are managed here.
	enabled bool
	// passes tells that the kind makes pods only for those who made it: a ReplicaSet, or a pod.
	passes bool
}

// Cover tells whether the quota of a managed job is meant for a new pod (contract: job-kinds.md 1.7). An owner reference is its
// writer's claim. The pod's own is believed if its writer controls the owner; the owners above it are checked as those of jobs are
// (see findAncestors).
func (w PodOwners) Cover(ctx context.Context, pod client.Object) (bool, error) {
	var below podOwner
	var gvk schema.GroupVersionKind // of current, from the first owner on
	for current, depth := pod, 0; depth < maxNesting; depth++ {
		ref := metav1.GetControllerOfNoCopy(current)
		owner := w.ownerOf(ref)
		if owner.object == nil {
			return false, nil
		}
		if found, err := w.get(ctx, owner, pod.GetNamespace(), ref); err != nil || !found {
			return false, err
		}
		believed, err := true, error(nil)
		switch {
		case depth == 0:
			believed, err = w.Controls(ctx, ref, pod.GetNamespace())
		case owner.kind != nil && !below.passes:
			believed, err = owner.kind.coversChild(ctx, w.reader().of(owner.enabled), owner.object, withKind(current, gvk))
		}
		if err != nil || !believed || owner.isManagedPod() {
			return false, err
		}
		if w.pays(owner) {
			return true, nil
		}
		current, below, gvk = owner.object, owner, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	}
	return false, nil
}

// ownerOf returns an empty object of the owner's kind; none if the kind is not known.
func (w PodOwners) ownerOf(ref *metav1.OwnerReference) podOwner {
	if ref == nil {
		return podOwner{}
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if isPod(ref) || gvk == (schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}) {
		return podOwner{object: newMetadata(gvk), passes: true}
	}
	object, kind, external := controllerOf(w.Options, ref)
	return podOwner{object: object, kind: kind, external: external, enabled: external || kind != nil && w.Options.isEnabled(kind)}
}

func isPod(ref *metav1.OwnerReference) bool { return ref.APIVersion == "v1" && ref.Kind == "Pod" }

func (w PodOwners) reader() fallbackReader { return fallbackReader{Reader: w.Cached, live: w.Live} }

// get reads the owner, and reports whether it is the one that is meant.
func (w PodOwners) get(ctx context.Context, o podOwner, namespace string, ref *metav1.OwnerReference) (bool, error) {
	err := w.reader().of(o.enabled).Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, o.object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("workload owner not found: get %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	return o.object.GetUID() == ref.UID, nil
}

// isManagedPod tells of a pod that has quota of its own: it has none for others.
func (o podOwner) isManagedPod() bool {
	return o.passes && o.object.GetLabels()[kueue.ManagedLabel] == kueue.ManagedLabelValue
}

// pays tells whether the owner is a managed job whose Workload asks for its pods.
func (w PodOwners) pays(o podOwner) bool {
	if o.external {
		return QueueName(o.object) != ""
	}
	kind, ok := o.kind.(interface{ asksForPods() bool })
	return ok && o.enabled && kind.asksForPods() && (QueueName(o.object) != "" || w.Options.ManageJobsWithoutQueueName)
}

// asksForPods tells that the Workloads of jobs of this kind ask for what their pods need.
func (i integration[T]) asksForPods() bool { return i.kind.PodSets != nil || i.kind.Inputs != nil }
