package serving

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Mirror declares what a hub needs to know of a [Kind] to run its objects on other clusters.
type Mirror[T client.Object] struct {
	// Copy returns a copy without status.
	Copy func(T) T
	// Templates are the pod templates of an object, to be changed.
	Templates func(T) []*corev1.PodTemplateSpec
	// IsReady tells whether all pods of the object are ready, by its status.
	IsReady func(T) bool
	// HoldsPods tells whether the object may have pods, those that are being terminated included, by its status.
	HoldsPods func(T) bool
	// Strip drops from a cached copy the specs that nobody reads.
	Strip func(T)
	// SyncSpec, optional, is [job.Kind.SyncSpec].
	SyncSpec func(local, remote T) bool
	// GroupCount, optional, is how many Workloads an object is to have, if that may be more than one; GroupName, required with it, is the name of
	// one of its groups.
	GroupCount func(T) int
	GroupName  func(obj T, index int) string
}

// NewMirrored is by what a hub runs objects of a kind on other clusters (contract: job-kinds.md 12, 13). The hub's object is served by its own
// controller, and its pods wait: nothing is shown of the copy. The integration reconciles nothing: [Framework] does.
func NewMirrored[T client.Object](kind Kind[T], m Mirror[T]) job.Integration {
	one := mirrored[T]{
		Integration: job.NewIntegration(job.Kind[T]{
			Name: kind.Name, GVK: kind.GVK, AddToScheme: kind.AddToScheme, New: kind.New, NewList: kind.NewList,
			Progress: func(obj T) job.Progress {
				return job.Progress{Active: IsCopy(obj) && m.HoldsPods(obj), Ready: IsCopy(obj) && m.IsReady(obj)}
			},
			CopyStatus:        func(_, _ T) (changed, deferred bool) { return false, false },
			Strip:             m.Strip,
			SyncSpec:          m.SyncSpec,
			DeletePropagation: metav1.DeletePropagationForeground, // what is gone has no pods
		}),
		mirror: m,
	}
	if m.GroupCount == nil {
		return one
	}
	return shared[T]{one}
}

// mirrored does otherwise than other kinds what objects do otherwise that cannot be suspended.
type mirrored[T client.Object] struct {
	job.Integration
	mirror Mirror[T]
}

var _ job.Serving = mirrored[client.Object]{}

// Serves implements [job.Serving].
func (mirrored[T]) Serves() {}

// Mirrorable implements job.Integration.
func (mirrored[T]) Mirrorable() bool { return true }

// IsManagedByMultiKueue implements job.Integration: the queue decides.
func (mirrored[T]) IsManagedByMultiKueue(client.Object) (bool, string) { return true, "" }

// RemoteCopy implements job.Integration. The copy says of which object it is, by which it names its Workloads. Its pods have the gate from
// their template, so that they wait there whatever becomes of the webhooks.
func (m mirrored[T]) RemoteCopy(obj client.Object, o job.RemoteOptions) client.Object {
	copied := m.mirror.Copy(m.typed(obj))
	job.StampCopy(copied, o)
	annotations := copied.GetAnnotations()
	annotations[kueue.MultiKueueOriginUIDAnnotation] = string(obj.GetUID())
	copied.SetAnnotations(annotations)
	for _, template := range m.mirror.Templates(copied) {
		addGate(template)
	}
	return copied
}

// typed is the object in its own type. Another one is a mistake in this program.
func (mirrored[T]) typed(obj client.Object) T {
	t, ok := obj.(T)
	if !ok {
		panic(fmt.Sprintf("serving: a %T is of another kind", obj))
	}
	return t
}

// shared is of a kind whose objects have several groups, and so several Workloads.
type shared[T client.Object] struct {
	mirrored[T]
}

var _ job.Shared = shared[client.Object]{}

// GroupCount implements [job.Shared].
func (s shared[T]) GroupCount(obj client.Object) int { return s.mirror.GroupCount(s.typed(obj)) }

// FirstWorkload implements [job.Shared].
func (s shared[T]) FirstWorkload(obj client.Object) string {
	return WorkloadName(s.GVK(), obj, s.mirror.GroupName(s.typed(obj), 0), false)
}

// RemoteCopy implements job.Integration. The copy is for no Workload more than for another.
func (s shared[T]) RemoteCopy(obj client.Object, o job.RemoteOptions) client.Object {
	copied := s.mirrored.RemoteCopy(obj, o)
	labels, annotations := copied.GetLabels(), copied.GetAnnotations()
	delete(labels, kueue.PrebuiltWorkloadNameKey)
	delete(annotations, kueue.PrebuiltWorkloadNameKey)
	copied.SetLabels(labels)
	copied.SetAnnotations(annotations)
	return copied
}

// addGate makes the pods of a template wait to be admitted.
func addGate(t *corev1.PodTemplateSpec) {
	gate := corev1.PodSchedulingGate{Name: kueue.AdmissionSchedulingGate}
	if !slices.Contains(t.Spec.SchedulingGates, gate) {
		t.Spec.SchedulingGates = append(slices.Clip(t.Spec.SchedulingGates), gate)
	}
}
