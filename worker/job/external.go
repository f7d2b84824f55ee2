package job

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
)

// External is a kind without a Go type that the dispatcher can mirror all the same (contract: kueue-api.md 3.4,
// multiKueue.externalFrameworks): a CRD with spec.managedBy and a status subresource. Its jobs are
// *unstructured.Unstructured. Its own controllers make its Workloads, on the hub and on the workers, and say in them how a
// job ended: of such a kind Progress knows nothing, and Setup and SetupWebhook add nothing.
func External(gvk schema.GroupVersionKind) Integration { return external{gvk: gvk} }

// IsExternal tells whether the kind is one that only the dispatcher knows: its jobs have controllers of their own here and there.
func IsExternal(kind Integration) bool {
	_, ok := kind.(external)
	return ok
}

// IsFenced tells whether the fence knows if jobs of a kind stop when they are told to. It follows the built-in kinds only, and not pods: nodes
// end them, not a controller.
func IsFenced(kind Integration) bool {
	if unknown, ok := kind.(interface{ isUnfenced() bool }); ok {
		return !unknown.isUnfenced()
	}
	return !IsExternal(kind) && !HasMembers(kind)
}

type external struct{ gvk schema.GroupVersionKind }

func (e external) Name() string                                   { return e.gvk.Kind + "." + e.gvk.Version + "." + e.gvk.Group }
func (e external) GVK() schema.GroupVersionKind                   { return e.gvk }
func (external) AddToScheme(*runtime.Scheme) error                { return nil }
func (external) Mirrorable() bool                                 { return true }
func (external) StatusOutlivesPods() bool                         { return false }
func (external) Progress(client.Object) Progress                  { return Progress{} }
func (external) LastControllerUpdate(client.Object) time.Time     { return time.Time{} }
func (external) IsLocal(client.Object) bool                       { return false }
func (external) ReportsOutcome() bool                             { return false }
func (external) FollowsSpec() bool                                { return false }
func (external) Scales() bool                                     { return false }
func (external) SyncSpec(_, _ client.Object) bool                 { return false }
func (external) Shrink(_, _ client.Object, _ []kueue.PodSet) bool { return false }
func (external) Resize(_, _ client.Object, _ []kueue.PodSet) bool { return false }
func (external) cleansUp(_, _ client.Object) bool                 { return false }
func (external) Setup(ctrl.Manager, Options) error                { return nil }

// coversChild implements Integration: what its controllers make is theirs to say.
func (external) coversChild(context.Context, client.Reader, client.Object, client.Object) (bool, error) {
	return true, nil
}

func (external) SetupWebhook(ctrl.Manager, Options, bool) error { return nil }

// ExpectedReaction nothing: what a status of such a kind means only its controllers know.
func (external) ExpectedReaction(client.Object) (fence.Reaction, time.Duration) { return "", 0 }

// DeletePropagation is that of the contract's generic adapter (contract: multikueue.md 6, external GVK).
func (external) DeletePropagation() metav1.DeletionPropagation {
	return metav1.DeletePropagationBackground
}

// New is an empty object of the kind, without a Go type: the hub knows of it only what the contract says.
func (e external) New() client.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(e.gvk)
	return u
}

func (e external) NewList() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(e.gvk.GroupVersion().WithKind(e.gvk.Kind + "List"))
	return list
}

// fields are the object's own. Every object of the kind comes from New, so another type is a mistake in this program.
func (e external) fields(obj client.Object) map[string]any {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		panic(fmt.Sprintf("integration %s was given a %T", e.Name(), obj))
	}
	return u.Object
}

// The fields that an external kind is known by.
const (
	specField, statusField       = "spec", "status"
	managedByField, suspendField = "managedBy", "suspend"
)

// IsManagedByMultiKueue reports whether the job leaves its execution to the dispatcher; if not, it says what would have to
// be set.
func (e external) IsManagedByMultiKueue(obj client.Object) (bool, string) {
	manager, _, _ := unstructured.NestedString(e.fields(obj), specField, managedByField) // anything but a string names nobody
	if manager == kueue.MultiKueueControllerName {
		return true, ""
	}
	return false, notManagedMessage(specField+"."+managedByField, manager)
}

// RemoteCopy takes nothing but metadata and spec along, without managedBy. Where the spec has a field suspend, the copy is
// suspended: the hub's job may have been resumed since, and the worker's must wait for what its own cluster has to add.
func (e external) RemoteCopy(obj client.Object, o RemoteOptions) client.Object {
	copied := &unstructured.Unstructured{Object: map[string]any{}}
	if spec, ok := e.fields(obj)[specField].(map[string]any); ok {
		spec = runtime.DeepCopyJSON(spec)
		delete(spec, managedByField)
		if _, ok := spec[suspendField].(bool); ok {
			spec[suspendField] = true
		}
		copied.Object[specField] = spec
	}
	copied.SetGroupVersionKind(e.gvk)
	copied.SetNamespace(obj.GetNamespace())
	copied.SetName(obj.GetName())
	copied.SetLabels(obj.GetLabels())
	copied.SetAnnotations(obj.GetAnnotations())
	StampCopy(copied, o)
	return copied
}

// CopyStatus copies the status whole. A remote job that has none yet has nothing to tell.
func (e external) CopyStatus(local, remote client.Object) (changed, deferred bool) {
	to, status := e.fields(local), e.fields(remote)[statusField]
	if status == nil || equality.Semantic.DeepEqual(to[statusField], status) {
		return false, false
	}
	to[statusField] = runtime.DeepCopyJSONValue(status)
	return true, false
}

// Strip leaves metadata and status.
func (e external) Strip(obj client.Object) {
	obj.SetManagedFields(nil)
	fields := e.fields(obj)
	for name := range fields {
		switch name {
		case "apiVersion", "kind", "metadata", statusField:
		default:
			delete(fields, name)
		}
	}
}
