package hub

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"switchyard.dev/apis/config"
	"switchyard.dev/worker"
	"switchyard.dev/worker/manager"
)

// newOfflineManager is a manager that never talks to a server.
func newOfflineManager(t *testing.T) ctrl.Manager {
	t.Helper()
	scheme, err := worker.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := testrestmapper.TestOnlyStaticRESTMapper(scheme)
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) {
			return &uniqueIndexCache{FakeInformers: informertest.FakeInformers{Scheme: scheme}, indexes: map[string]bool{}}, nil
		},
		NewClient: func(*rest.Config, client.Options) (client.Client, error) {
			return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).Build(), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// uniqueIndexCache refuses to index one field twice, as a real cache does.
type uniqueIndexCache struct {
	informertest.FakeInformers
	indexes map[string]bool
}

func (i *uniqueIndexCache) IndexField(_ context.Context, o client.Object, field string, _ client.IndexerFunc) error {
	index := fmt.Sprintf("%T by %s", o, field)
	if i.indexes[index] {
		return fmt.Errorf("%s is indexed already", index)
	}
	i.indexes[index] = true
	return nil
}

func TestEveryPartOfAHubFitsIntoOneManager(t *testing.T) {
	cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" +
		"integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	composition, err := Compose(manager.Settings{Configuration: cfg})
	if err != nil {
		t.Fatal(err)
	}
	parts, _, err := composition.Build()
	if err != nil {
		t.Fatal(err)
	}
	mgr := newOfflineManager(t)
	for _, part := range parts {
		if err := part.Add(t.Context(), mgr); err != nil {
			t.Errorf("part %s: %v", part.Name, err)
		}
	}
}
