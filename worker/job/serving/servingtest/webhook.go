// Package servingtest drives the webhooks and the reconcilers of serving kinds on an API server in memory.
package servingtest

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/serving"
)

// Namespace is where everything happens; it has the label managed=yes.
const Namespace = "team"

// Webhook is a cluster with the webhook of one kind.
type Webhook[T client.Object] struct {
	// Kind is the kind under test.
	Kind serving.Kind[T]
	// Options are those of the webhook.
	Options job.Options
	// Disabled switches the kind off.
	Disabled bool
	// Objects are in the cluster.
	Objects []client.Object
}

// handlers returns the handlers on a new cluster.
func (w Webhook[T]) handlers(t *testing.T) *serving.Webhook[T] {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(NewScheme(t, w.Kind.AddToScheme)).WithObjects(append(w.Objects, newNamespace())...).Build()
	return serving.NewWebhook(w.Kind, w.Options, c, c, !w.Disabled)
}

// NewScheme returns the types of Kubernetes, of the API, of a kind, and of a job that claims can be made about.
func NewScheme(t *testing.T, of func(*runtime.Scheme) error) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme, jobsetv1.AddToScheme, of} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func newNamespace() client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: map[string]string{"managed": "yes"}}}
}

// Create returns what becomes of a new object.
func (w Webhook[T]) Create(t *testing.T, obj T) T {
	t.Helper()
	return w.admit(context.Background(), t, obj)
}

// Update returns what becomes of an object whose writer sends the second in the place of the first.
func (w Webhook[T]) Update(t *testing.T, old, obj T) T {
	t.Helper()
	raw, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Update, OldObject: runtime.RawExtension{Raw: raw},
	}}
	return w.admit(admission.NewContextWithRequest(context.Background(), req), t, obj)
}

// admit defaults a copy of the object, and checks that to do it twice changes nothing more.
func (w Webhook[T]) admit(ctx context.Context, t *testing.T, obj T) T {
	t.Helper()
	h := w.handlers(t)
	once := copyOf(t, obj)
	if err := h.Default(ctx, once); err != nil {
		t.Fatal(err)
	}
	twice := copyOf(t, once)
	if err := h.Default(ctx, twice); err != nil {
		t.Fatal(err)
	}
	first, _ := json.Marshal(once)
	second, _ := json.Marshal(twice)
	if !bytes.Equal(first, second) {
		t.Errorf("not idempotent:\n%s\n%s", first, second)
	}
	return once
}

func copyOf[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	copied, ok := obj.DeepCopyObject().(T)
	if !ok {
		t.Fatalf("copy of %T has another type", obj)
	}
	return copied
}

// RefusesCreate is what is said against a new object; empty if nothing.
func (w Webhook[T]) RefusesCreate(t *testing.T, obj T) string {
	t.Helper()
	_, err := w.handlers(t).ValidateCreate(context.Background(), obj)
	return text(err)
}

// RefusesUpdate is what is said against a change; empty if nothing.
func (w Webhook[T]) RefusesUpdate(t *testing.T, old, obj T) string {
	t.Helper()
	_, err := w.handlers(t).ValidateUpdate(context.Background(), old, obj)
	return text(err)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Options are those of a program that also runs JobSets.
func Options() job.Options {
	return job.Options{Kinds: []job.Integration{job.NewIntegration(jobset.Kind())}, Gates: job.DefaultGates()}
}
