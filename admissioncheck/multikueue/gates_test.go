package multikueue

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/client-go/rest"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker"
	"switchyard.dev/worker/job/all"
)

func TestWithTheGatesOnTheirPartsFitIntoTheManagerToo(t *testing.T) {
	scheme, err := worker.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := testrestmapper.TestOnlyStaticRESTMapper(scheme)
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) {
			return &informertest.FakeInformers{Scheme: scheme}, nil
		},
		NewClient: func(*rest.Config, client.Options) (client.Client, error) {
			return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).Build(), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := configapi.Default()
	cfg.FeatureGates = map[string]bool{"MultiKueueClusterProfile": true, "MultiKueueManagerQuotaAutomation": true}
	cfg.MultiKueue.ExternalFrameworks = []configapi.MultiKueueExternalFramework{{Name: "Simulation.v1.example.com"}}
	if err := new(Check).Setup(mgr, cfg, all.Kinds()...); err != nil {
		t.Fatal(err)
	}
	if !scheme.Recognizes(inventory.GroupVersion.WithKind("ClusterProfile")) {
		t.Error("the manager does not know cluster profiles")
	}
}
