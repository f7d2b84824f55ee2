package servingtest

import (
	"context"
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// seeds is how many random objects are tried when nobody asks for more.
const seeds = 50

// FuzzWebhook tries the handlers on random objects: they answer, whatever is in them.
func FuzzWebhook[T client.Object](f *testing.F, w Webhook[T]) {
	f.Helper()
	for seed := range int64(seeds) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		h := w.handlers(t)
		old, obj := w.random(seed), w.random(-seed-1)
		raw, err := json.Marshal(old)
		if err != nil {
			t.Skip(err) // it could not have come over the wire
		}
		ctx := admission.NewContextWithRequest(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, OldObject: runtime.RawExtension{Raw: raw},
		}})
		_, _ = h.ValidateCreate(ctx, copyOf(t, obj))
		_, _ = h.ValidateUpdate(ctx, old, copyOf(t, obj))
		w.admit(ctx, t, obj)
	})
}

// random is an object of the kind with anything in it. It names a queue, is in the namespace, and nobody made it.
func (w Webhook[T]) random(seed int64) T {
	obj := w.Kind.New()
	NewFiller(seed).Fill(obj)
	obj.SetNamespace(Namespace)
	obj.SetDeletionTimestamp(nil)
	obj.SetOwnerReferences(nil)
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[kueue.QueueNameLabel] = "main"
	obj.SetLabels(labels)
	return obj
}

// NewFiller fills objects with random values, the same for the same seed: pointers are nil now and then, lists are short, numbers may be
// anything.
func NewFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12)
}
