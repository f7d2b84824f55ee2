package manager

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

func TestAProgramSpeaksTheOldReasonsOnlyWithTheGateOff(t *testing.T) {
	for _, gate := range []bool{true, false} {
		cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnamespace: kueue-system\n"))
		if err != nil {
			t.Fatal(err)
		}
		gates, err := features.New(map[string]bool{string(features.UnadmittedWorkloadsObservability): gate})
		if err != nil {
			t.Fatal(err)
		}
		s := Settings{Configuration: cfg, Gates: gates}
		if got := said(t, s); strings.Contains(got, `"reason":"WaitingForQuota"`) != gate {
			t.Errorf("gate %v: writes %s", gate, got)
		}
		if got := heard(t, s); (got == "WaitingForQuota") == gate {
			t.Errorf("gate %v: hears %s", gate, got)
		}
	}
}

// said is what the API server gets when a Workload's reason to wait is written.
func said(t *testing.T, s Settings) string {
	t.Helper()
	var got []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"a"}}`)
	}))
	defer server.Close()
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(kueue.GroupVersion.WithKind("Workload"), meta.RESTScopeNamespace)
	options := client.Options{Scheme: scheme, Mapper: mapper}
	c, err := managerOptions(s, scheme, newCertificates(s)).NewClient(&rest.Config{Host: server.URL}, options)
	if err != nil {
		t.Fatal(err)
	}
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Status: kueue.WorkloadStatus{Conditions: []metav1.Condition{
		{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "WaitingForQuota", Message: "Workload no longer fits after processing another workload"},
	}}}
	if err := kube.ApplyAdmission(t.Context(), c, wl); err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// heard is the reason that an informer delivers of a Workload with an old one.
func heard(t *testing.T, s Settings) string {
	t.Helper()
	wl := &kueue.Workload{Status: kueue.WorkloadStatus{Conditions: []metav1.Condition{
		{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", Message: "Workload no longer fits after processing another workload"},
	}}}
	for object, by := range cacheOptions(s).ByObject {
		if _, ok := object.(*kueue.Workload); ok {
			if _, err := by.Transform(client.Object(wl)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return wl.Status.Conditions[0].Reason
}

// The reconcilers of kinds without a Go type, and the fence, read jobs by indexes that only a cache has.
func TestObjectsWithoutGoTypeAreReadFromTheCache(t *testing.T) {
	cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnamespace: kueue-system\n"))
	if err != nil {
		t.Fatal(err)
	}
	gates, err := features.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Configuration: cfg, Gates: gates}
	o := managerOptions(s, runtime.NewScheme(), newCertificates(s))
	if o.Client.Cache == nil || !o.Client.Cache.Unstructured {
		t.Errorf("they are read as %+v", o.Client.Cache)
	}
}
