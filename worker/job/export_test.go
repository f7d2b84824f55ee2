package job

import (
	"context"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// OwnerIndexValues registers the indexes that the kind's reconciler needs with a fake client.
func OwnerIndexValues[T client.Object](b *fake.ClientBuilder, kind Kind[T]) *fake.ClientBuilder {
	r := newReconciler(kind, Options{}, nil, nil)
	return b.WithIndex(&kueue.Workload{}, r.watches.ownerIndex(), r.watches.ownerName).WithIndex(kind.New(), prebuiltIndex, DefaultGates().prebuiltName).
		WithIndex(kind.New(), controllerIndex, controllerUID)
}

// NewReconciler returns the kind's reconciler on the given client, and on a reader that is never behind.
func NewReconciler[T client.Object](kind Kind[T], o Options, c client.Client, live client.Reader, recorder events.EventRecorder) reconcile.Reconciler {
	r := newReconciler(kind, o, c, live)
	r.recorder, r.watches.recorder = recorder, recorder
	return r
}

// RequestsForWorkload returns what the kind's reconciler looks at when a Workload changes.
func RequestsForWorkload[T client.Object](kind Kind[T], c client.Client, wl *kueue.Workload) []ctrl.Request {
	return newReconciler(kind, Options{}, c, c).watches.requestsForWorkload(context.Background(), wl)
}

// RequestsForClass returns what a reconciler of the kind looks at when a priority class comes.
func RequestsForClass[T client.Object](r reconcile.Reconciler, object client.Object) []ctrl.Request {
	return r.(*reconciler[T]).watches.requestsForClass(context.Background(), object)
}

// NewWebhook returns the kind's webhook handlers.
func NewWebhook[T client.Object](kind Kind[T], o Options, c client.Client, enabled bool) interface {
	admission.Defaulter[T]
	admission.Validator[T]
} {
	return &webhook[T]{kind: kind, opts: o, reader: c, live: c, enabled: enabled}
}

// CheckMessageEvents returns the events about the job that a change of its Workload's checks brings.
func CheckMessageEvents(was, is *kueue.Workload) []kube.Event { return checkMessageEvents(was, is) }
