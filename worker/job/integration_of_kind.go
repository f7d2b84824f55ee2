package job

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// NewIntegration forgets the type of a kind.
func NewIntegration[T client.Object](kind Kind[T]) Integration { return integration[T]{kind: kind} }

type integration[T client.Object] struct{ kind Kind[T] }

func (i integration[T]) Name() string                        { return i.kind.Name }
func (i integration[T]) GVK() schema.GroupVersionKind        { return i.kind.GVK }
func (i integration[T]) AddToScheme(s *runtime.Scheme) error { return i.kind.AddToScheme(s) }
func (i integration[T]) New() client.Object                  { return i.kind.New() }
func (i integration[T]) NewList() client.ObjectList          { return i.kind.NewList() }
func (i integration[T]) Mirrorable() bool                    { return i.kind.ManagedBy != nil }
func (i integration[T]) DeletePropagation() metav1.DeletionPropagation {
	return i.kind.DeletePropagation
}
func (i integration[T]) StatusOutlivesPods() bool {
	return i.kind.Children != nil && i.kind.Children.Decide
}
func (i integration[T]) Progress(obj client.Object) Progress { return i.kind.Progress(i.asJob(obj)) }
func (i integration[T]) isUnfenced() bool                    { return i.kind.Unfenced }
func (i integration[T]) ReportsOutcome() bool                { return true }

// asJob is the object in its own type. Another one is a mistake in this program.
func (i integration[T]) asJob(obj client.Object) T {
	t, ok := obj.(T)
	if !ok {
		panic(fmt.Sprintf("integration %s was given a %T", i.kind.Name, obj))
	}
	return t
}

// Strip takes out of a cached object what no decision reads, in place.
func (i integration[T]) Strip(obj client.Object) {
	obj.SetManagedFields(nil)
	if i.kind.Strip != nil {
		i.kind.Strip(i.asJob(obj))
	}
}

// IsManagedByMultiKueue implements Integration.
func (i integration[T]) IsManagedByMultiKueue(obj client.Object) (bool, string) {
	if i.kind.ManagedBy == nil {
		return false, fmt.Sprintf("%s cannot be managed by another controller", i.kind.GVK.Kind)
	}
	manager := jobManager(&i.kind, i.asJob(obj))
	if manager == kueue.MultiKueueControllerName {
		return true, ""
	}
	return false, notManagedMessage(i.kind.ManagedBy.Path, manager)
}

// notManagedMessage is why a job is not the dispatcher's, in the contract's words (contract: multikueue.md 6).
func notManagedMessage(path, manager string) string {
	return fmt.Sprintf("Expecting %s to be %q not %q", path, kueue.MultiKueueControllerName, manager)
}

func (i integration[T]) CopyStatus(local, remote client.Object) (changed, deferred bool) {
	return i.kind.CopyStatus(i.asJob(local), i.asJob(remote))
}

// FollowsSpec implements Integration.
func (i integration[T]) FollowsSpec() bool { return i.kind.SyncSpec != nil || i.resizes() }

func (i integration[T]) resizes() bool { return i.kind.Elastic != nil && i.kind.Elastic.Resize != nil }

// Resize implements Integration.
func (i integration[T]) Resize(local, remote client.Object, sets []kueue.PodSet) bool {
	return i.resizes() && i.kind.Elastic.Resize(i.asJob(local), i.asJob(remote), sets)
}

// Shrink implements Integration.
func (i integration[T]) Shrink(local, remote client.Object, sets []kueue.PodSet) bool {
	if !i.resizes() || i.kind.Elastic.sizes == nil {
		return false
	}
	sizes, lowered := i.kind.Elastic.sizes(i.asJob(remote)), slices.Clone(sets)
	if len(sizes) != len(sets) {
		return false
	}
	for n := range lowered {
		lowered[n].Count = int32(min(max(sizes[n], 0), int64(sets[n].Count)))
	}
	return i.Resize(local, remote, lowered)
}

// Scales implements Integration.
func (i integration[T]) Scales() bool { return i.kind.Elastic != nil }

// SyncSpec implements Integration.
func (i integration[T]) SyncSpec(local, remote client.Object) bool {
	return i.kind.SyncSpec != nil && i.kind.SyncSpec(i.asJob(local), i.asJob(remote))
}

// RemoteCopy implements Integration.
func (i integration[T]) RemoteCopy(obj client.Object, o RemoteOptions) client.Object {
	k := &i.kind
	copied := deepCopy(i.asJob(obj))
	k.Restore(copied, o.Workload.Spec.PodSets)
	k.SetSuspend(copied, true)
	if k.Detach != nil {
		k.Detach(copied)
	}
	k.ManagedBy.Set(copied, "")
	StampCopy(copied, o)
	return copied
}

func (i integration[T]) coversChild(ctx context.Context, r client.Reader, owner, child client.Object) (bool, error) {
	return i.kind.coversChild(ctx, r, i.asJob(owner), child)
}

func (i integration[T]) cleansUp(owner, child client.Object) bool {
	return i.kind.Children != nil && i.kind.Children.CleansUp != nil && i.kind.Children.CleansUp(i.asJob(owner), child)
}

// jobManager is the job's spec.managedBy; "" if it has none, or its kind does not know the field.
func jobManager[T client.Object](k *Kind[T], job T) string {
	if k.ManagedBy == nil {
		return ""
	}
	return k.ManagedBy.Get(job)
}

// deepCopy is a copy of a job in its own type.
func deepCopy[T client.Object](job T) T {
	copied, ok := job.DeepCopyObject().(T)
	if !ok {
		panic(fmt.Sprintf("deep copy of %T has another type", job))
	}
	return copied
}

// StampCopy leaves of the metadata what a remote copy has in common with the local job, and adds the stamps.
func StampCopy(obj client.Object, o RemoteOptions) {
	NamePrebuiltWorkload(obj, o.Workload.Name, o.WorkloadNameInLabel)
	labels, annotations := cloneMap(obj.GetLabels()), cloneMap(obj.GetAnnotations())
	labels[kueue.MultiKueueOriginLabel] = o.Origin
	maps.Copy(annotations, o.Annotations)
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	obj.SetUID("")
	obj.SetResourceVersion("")
	obj.SetGenerateName("")
	obj.SetGeneration(0)
	obj.SetSelfLink("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetOwnerReferences(nil)
	obj.SetFinalizers(nil)
	obj.SetManagedFields(nil)
}

// NamePrebuiltWorkload has a job name its Workload, in a label if it is to and fits there, else in an annotation, and tells whether that changes
// anything.
func NamePrebuiltWorkload(obj client.Object, name string, inLabel bool) bool {
	labels, annotations := cloneMap(obj.GetLabels()), cloneMap(obj.GetAnnotations())
	delete(labels, kueue.PrebuiltWorkloadNameKey)
	delete(annotations, kueue.PrebuiltWorkloadNameKey)
	if inLabel && len(name) <= validation.LabelValueMaxLength {
		labels[kueue.PrebuiltWorkloadNameKey] = name
	} else {
		annotations[kueue.PrebuiltWorkloadNameKey] = name
	}
	changed := !maps.Equal(labels, obj.GetLabels()) || !maps.Equal(annotations, obj.GetAnnotations())
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return changed
}

// cloneMap is a copy that may be written to, of a nil map too.
func cloneMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}
