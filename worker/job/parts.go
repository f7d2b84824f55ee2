package job

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Index is one that a cache needs for a kind's reconciler.
type Index struct {
	// Of is an empty object of the kind that is indexed.
	Of client.Object
	// Field is the index's name, Keys what it has of an object.
	Field string
	Keys  client.IndexerFunc
}

// Indexes are those that the reconciler of a kind reads by.
func Indexes[T client.Object](kind Kind[T], gates Gates, scheme *runtime.Scheme) []Index {
	w := watches[T]{kind: &kind}
	indexes := []Index{
		{&kueue.Workload{}, w.ownerIndex(), w.ownerName},
		{kind.New(), prebuiltIndex, gates.prebuiltName},
		{kind.New(), controllerIndex, controllerUID},
	}
	if kind.Elastic != nil {
		indexes = append(indexes, Index{&kueue.Workload{}, w.replacedIndex(), replacedSliceName})
	}
	if kind.Inputs != nil {
		indexes = append(indexes, Index{kind.New(), inputIndex, kind.inputKeys(scheme)})
	}
	return indexes
}

// NewReconciler returns the kind's reconciler on the given client, which has its Indexes, and on a reader that is never behind.
func NewReconciler[T client.Object](kind Kind[T], o Options, c client.Client, live client.Reader, recorder events.EventRecorder) reconcile.Reconciler {
	r := newReconciler(kind, o, c, live)
	r.recorder, r.watches.recorder = recorder, recorder
	return r
}

// WebhookHandlers are what the webhooks of a kind do.
type WebhookHandlers[T client.Object] interface {
	admission.Defaulter[T]
	admission.Validator[T]
}

// NewWebhook returns the kind's webhook handlers. Those of a kind that is not enabled accept everything unchanged.
func NewWebhook[T client.Object](kind Kind[T], o Options, c client.Client, enabled bool) WebhookHandlers[T] {
	return &webhook[T]{kind: kind, opts: o, reader: c, live: c, enabled: enabled}
}
