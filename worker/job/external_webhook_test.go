package job_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"switchyard.dev/worker/job"
)

// newReview is what an API server asks about an external job; old is nil for one that is new.
func newReview(t *testing.T, old, is *unstructured.Unstructured) admission.Request {
	t.Helper()
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "asked", Operation: admissionv1.Create}}
	for into, from := range map[*runtime.RawExtension]*unstructured.Unstructured{&request.OldObject: old, &request.Object: is} {
		if from == nil {
			continue
		}
		raw, err := json.Marshal(from.Object)
		if err != nil {
			t.Fatal(err)
		}
		into.Raw = raw
	}
	if old != nil {
		request.Operation = admissionv1.Update
	}
	return request
}

// denial returns why a webhook refuses; empty if it does not.
func denial(t *testing.T, o job.Options, request admission.Request) string {
	t.Helper()
	answer := job.ExternalWebhook(o).Handle(t.Context(), request)
	if answer.Allowed != (answer.Result == nil || answer.Result.Message == "") || answer.UID != "asked" {
		t.Errorf("the answer is %+v", answer)
	}
	if answer.Allowed {
		return ""
	}
	return answer.Result.Message
}

func TestAnExternalJobOfAnEpochThatIsOverIsNotMade(t *testing.T) {
	var object client.Object
	asked, over := "", true
	o := job.Options{Gates: job.DefaultGates(), Stale: func(_ context.Context, job client.Object, workload string) *field.Error {
		if object, asked = job, workload; over {
			return field.Forbidden(field.NewPath("metadata"), "epoch 2 is over")
		}
		return nil
	}}
	request := newReview(t, nil, createdInEpoch(newExternalJob(nil, nil), "u", "2"))
	const want = `metadata: Forbidden: epoch 2 is over`
	if got := denial(t, o, request); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if asked != "prebuilt" || object.GetNamespace() != "ns" || object.GetLabels()["kueue.x-k8s.io/multikueue-origin"] != "hub" ||
		object.GetAnnotations()["switchyard.dev/epoch"] != "2" {
		t.Errorf("asked for %q about %+v", asked, object)
	}
	over = false
	if got := denial(t, o, request); got != "" {
		t.Errorf("one that is not over is refused: %s", got)
	}
	if got := denial(t, job.Options{}, request); got != "" {
		t.Errorf("refused by nobody: %s", got)
	}
}

func TestTheEpochOfAnExternalJobDoesNotChange(t *testing.T) {
	made := func(at string) *unstructured.Unstructured { return createdInEpoch(newExternalJob(nil, nil), "u", at) }
	for to, allowed := range map[string]bool{"2": false, "3": true, "4": false} {
		got := denial(t, job.Options{}, newReview(t, made("3"), made(to)))
		if allowed != (got == "") || !allowed && !strings.Contains(got, "must not fall: it is 3") && !strings.Contains(got, "must stay") {
			t.Errorf("to %s: %q", to, got)
		}
	}
	leaving := made("2")
	if err := unstructured.SetNestedField(leaving.Object, "2026-11-22T01:00:00Z", "metadata", "deletionTimestamp"); err != nil {
		t.Fatal(err)
	}
	if got := denial(t, job.Options{}, newReview(t, made("3"), leaving)); got != "" {
		t.Errorf("one that is being deleted keeps its finalizers: %s", got)
	}
}

func TestAReviewThatCannotBeReadIsNoPermission(t *testing.T) {
	request := newReview(t, nil, newExternalJob(nil, nil))
	request.Object.Raw = []byte("{")
	if got := denial(t, job.Options{}, request); got == "" {
		t.Error("allowed")
	}
}
