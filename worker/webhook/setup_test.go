package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// stale refuses the Workload of that name.
type stale string

func (s stale) ValidateCreate(_ context.Context, object client.Object, workload string) *field.Error {
	if object.GetName() != workload || workload != string(s) {
		return nil
	}
	return field.Forbidden(field.NewPath("metadata"), "over")
}

// handlers are those that Setup registers with a manager that is never started.
func handlers(t *testing.T) http.Handler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(mgr, features.Set{}, stale("held-up")); err != nil {
		t.Fatal(err)
	}
	return mgr.GetWebhookServer().WebhookMux()
}

// post sends a review and decodes the answer.
func post(t *testing.T, handler http.Handler, path string, review, answer any) {
	t.Helper()
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	if err := json.Unmarshal(response.Body.Bytes(), answer); err != nil {
		t.Fatalf("%s answered %d %s", path, response.Code, response.Body)
	}
}

func review(t *testing.T, handler http.Handler, path, manifest string) *admissionv1.AdmissionResponse {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	question := &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}}
	question.APIVersion, question.Kind = "admission.k8s.io/v1", "AdmissionReview"
	answer := &admissionv1.AdmissionReview{}
	post(t, handler, path, question, answer)
	return answer.Response
}

func TestNewObjectsInUseGetAFinalizer(t *testing.T) {
	handler := handlers(t)
	for _, kind := range []string{"ClusterQueue", "ResourceFlavor"} {
		path := map[string]string{
			"ClusterQueue":   "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue",
			"ResourceFlavor": "/mutate-kueue-x-k8s-io-v1beta2-resourceflavor",
		}[kind]
		got := review(t, handler, path, fmt.Sprintf("{apiVersion: kueue.x-k8s.io/v1beta2, kind: %s, metadata: {name: a}, spec: {}}", kind))
		if !got.Allowed || !bytes.Contains(got.Patch, []byte(kueue.ResourceInUseFinalizer)) {
			t.Errorf("%s: allowed %t, patch %s", kind, got.Allowed, got.Patch)
		}
	}
}

func TestWhatIsWrongIsRefusedWithItsPath(t *testing.T) {
	handler := handlers(t)
	for path, spec := range map[string]string{
		"clusterqueue":   `kind: ClusterQueue, spec: {fairSharing: {weight: "-1"}}`,
		"cohort":         `kind: Cohort, spec: {fairSharing: {weight: "-1"}}`,
		"resourceflavor": `kind: ResourceFlavor, spec: {nodeLabels: {"@": a}}`,
		"workload":       `kind: Workload, spec: {podSets: [{template: {metadata: {labels: {"@": a}}}}]}`,
	} {
		got := review(t, handler, "/validate-kueue-x-k8s-io-v1beta2-"+path, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: a}, "+spec+"}")
		if got.Allowed || !strings.HasPrefix(got.Result.Message, "spec.") {
			t.Errorf("%s: allowed %t, %v", path, got.Allowed, got.Result)
		}
	}
}

func TestAWorkloadOfAnEpochThatIsOverIsRefused(t *testing.T) {
	handler := handlers(t)
	for name, allowed := range map[string]bool{"held-up": false, "in-time": true} {
		manifest := "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: " + name + "}, spec: {podSets: []}}"
		got := review(t, handler, "/validate-kueue-x-k8s-io-v1beta2-workload", manifest)
		if got.Allowed != allowed || !allowed && !strings.Contains(got.Result.Message, "over") {
			t.Errorf("%s: allowed %t, %v", name, got.Allowed, got.Result)
		}
	}
}

func TestOldVersionsAreConverted(t *testing.T) {
	handler := handlers(t)
	for old, want := range map[string]string{
		`{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: a}, spec: {cohort: c}}`:                             `"cohortName":"c"`,
		`{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: a}, status: {flavorUsage: [{name: f}]}}`:              `"flavorsUsage":[{"name":"f"`,
		`{apiVersion: kueue.x-k8s.io/v1beta1, kind: Cohort, metadata: {name: a}, spec: {parentName: p}}`:                               `"parentName":"p"`,
		`{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: a}, status: {accumulatedPastExexcutionTimeSeconds: 7}}`: `"accumulatedPastExecutionTimeSeconds":7`,
		`{apiVersion: kueue.x-k8s.io/v1beta1, kind: MultiKueueCluster, metadata: {name: a}, spec: {kubeConfig: {location: s}}}`:        `"clusterSource":{"kubeConfig":{"location":"s"}}`,
	} {
		raw, err := yaml.YAMLToJSON([]byte(old))
		if err != nil {
			t.Fatal(err)
		}
		question := &apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
			UID: "1", DesiredAPIVersion: "kueue.x-k8s.io/v1beta2", Objects: []runtime.RawExtension{{Raw: raw}},
		}}
		question.APIVersion, question.Kind = "apiextensions.k8s.io/v1", "ConversionReview"
		answer := &apiextensionsv1.ConversionReview{}
		post(t, handler, "/convert", question, answer)
		if answer.Response.Result.Status != "Success" || !bytes.Contains(answer.Response.ConvertedObjects[0].Raw, []byte(want)) {
			t.Errorf("%s became %+v", old, answer.Response)
		}
	}
}
