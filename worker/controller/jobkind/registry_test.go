package jobkind

import (
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

func newRegistry(t *testing.T, objects ...client.Object) *registry {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, switchyard.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return &registry{client: api, live: api, options: job.Options{Gates: job.DefaultGates()}, taken: New(Options{}).isTaken}
}

func request(operation admissionv1.Operation, kind, object string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, Kind: metav1.GroupVersionKind{Group: "ml.example.com", Version: "v1", Kind: kind},
		Object: runtime.RawExtension{Raw: []byte(object)}, OldObject: runtime.RawExtension{Raw: []byte(object)},
	}}
}

const queued = `{"apiVersion": "ml.example.com/v1", "kind": "TrainingRun",
	"metadata": {"name": "a", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
	"spec": {"steps": 9007199254740993, "template": {"spec": {"containers": [{"name": "main"}]}}}}`

func TestANewJobOfAConfiguredKindIsSuspended(t *testing.T) {
	r := newRegistry(t, declare("runs", "TrainingRun", 0))
	defaulter := r.handler(func(h job.Handlers) admission.Handler { return h.Default })
	if answer := defaulter.Handle(t.Context(), request("CREATE", "TrainingRun", queued)); answer.Allowed || answer.Result.Code != http.StatusServiceUnavailable {
		t.Errorf("before the JobKinds are known the answer is %+v", answer)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	answer := defaulter.Handle(t.Context(), request("CREATE", "TrainingRun", queued))
	if !answer.Allowed || len(answer.Patches) != 1 || answer.Patches[0].Path != "/spec/suspend" || answer.Patches[0].Value != true {
		t.Errorf("the answer is %+v", answer)
	}
	if other := defaulter.Handle(t.Context(), request("CREATE", "Simulation", queued)); !other.Allowed || len(other.Patches) > 0 {
		t.Errorf("about another kind the answer is %+v", other)
	}
}

func TestAJobThatNoWorkloadCanSpeakForIsRefused(t *testing.T) {
	r := newRegistry(t, declare("runs", "TrainingRun", 0))
	if _, err := r.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	validator := r.handler(func(h job.Handlers) admission.Handler { return h.Validate })
	if answer := validator.Handle(t.Context(), request("CREATE", "TrainingRun", queued)); !answer.Allowed {
		t.Errorf("a good job is refused: %v", answer.Result)
	}
	wrong := strings.Replace(queued, `"template"`, `"pods"`, 1)
	answer := validator.Handle(t.Context(), request("CREATE", "TrainingRun", wrong))
	if answer.Allowed || !strings.Contains(answer.Result.Message, "spec.template: Required value") {
		t.Errorf("the answer is %+v", answer.Result)
	}
	if answer := validator.Handle(t.Context(), request("UPDATE", "TrainingRun", wrong)); !answer.Allowed {
		t.Errorf("one from before the JobKind cannot be changed any more: %v", answer.Result)
	}
}
