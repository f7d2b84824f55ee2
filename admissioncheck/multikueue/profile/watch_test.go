package profile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// crd is a mapper that knows the kind once it is installed.
type crd struct {
	meta.RESTMapper
	mu        sync.Mutex
	installed bool
	asked     int
}

func (c *crd) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if !c.installed {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return &meta.RESTMapping{}, nil
}

func (c *crd) install() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.installed = true
}

// store is a cache of the profiles that a server has.
type store struct {
	informertest.FakeInformers
	client.Reader
	informer toolscache.SharedIndexInformer
}

func (s *store) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	return s.Reader.Get(ctx, key, obj, o...)
}

func (s *store) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	return s.Reader.List(ctx, list, o...)
}

func (s *store) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return s.informer, nil
}

func (s *store) WaitForCacheSync(ctx context.Context) bool {
	return toolscache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced)
}

func (s *store) Start(ctx context.Context) error {
	s.informer.RunWithContext(ctx)
	return nil
}

func newStore(t *testing.T) (*store, client.WithWatch) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := inventory.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(scheme).Build()
	lw := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := &inventory.ClusterProfileList{}
			return list, server.List(ctx, list, &client.ListOptions{Raw: &o})
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return server.Watch(ctx, &inventory.ClusterProfileList{}, &client.ListOptions{Raw: &o})
		},
	}
	return &store{
		FakeInformers: informertest.FakeInformers{Scheme: scheme}, Reader: server,
		informer: toolscache.NewSharedIndexInformer(plain{lw}, &inventory.ClusterProfile{}, 0, nil),
	}, server
}

// plain keeps the informer to list and then watch: the server knows nothing else.
type plain struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported implements the reflector's question.
func (plain) IsWatchListSemanticsUnSupported() bool { return true }

func TestProfilesAreFoundOnceTheirCRDIsInstalledAndChangesAreTold(t *testing.T) {
	mapper := &crd{}
	own, api := newStore(t)
	var mu sync.Mutex
	var told []string
	w := &Watch{
		Mapper: mapper, Namespace: "kueue-system", Every: time.Millisecond,
		NewCache: func() (cache.Cache, error) { return own, nil },
		Changed:  func(name string) { mu.Lock(); defer mu.Unlock(); told = append(told, name) },
	}
	heard := func(name string) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return slices.Contains(told, name) }
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := w.Get(ctx, "w1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("before anything is known: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- w.Start(ctx) }()
	if !becomes(heard("")) {
		t.Fatal("nobody was told that there are no profiles")
	}
	if _, err := w.Get(ctx, "w1"); !apierrors.IsNotFound(err) || err.Error() != `clusterprofiles.multicluster.x-k8s.io "w1" not found` {
		t.Errorf("without the CRD: %v", err)
	}
	p := profileOf("w1", at("p", server))
	p.Namespace = "kueue-system"
	if err := api.Create(ctx, p); err != nil {
		t.Fatal(err)
	}
	mapper.install()
	if !becomes(heard("w1")) {
		t.Fatal("nobody was told of the profile")
	}
	if got, err := w.Get(ctx, "w1"); err != nil || len(got.Status.AccessProviders) != 1 {
		t.Errorf("profile %+v, error %v", got, err)
	}
	mu.Lock()
	told = nil
	mu.Unlock()
	p.Status.AccessProviders = nil
	if err := api.Update(ctx, p); err != nil {
		t.Fatal(err)
	}
	if !becomes(heard("w1")) {
		t.Error("nobody was told of the change")
	}
	mu.Lock()
	told = nil
	mu.Unlock()
	if err := api.Delete(ctx, p); err != nil {
		t.Fatal(err)
	}
	if !becomes(heard("w1")) {
		t.Error("nobody was told that it is gone")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAHubWithoutTheCRDStopsWithoutAnError(t *testing.T) {
	mapper := &crd{}
	w := &Watch{Mapper: mapper, Changed: func(string) {}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- w.Start(ctx) }()
	if !becomes(func() bool { mapper.mu.Lock(); defer mapper.mu.Unlock(); return mapper.asked > 0 }) {
		t.Fatal("nobody looked for the CRD")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !w.NeedLeaderElection() {
		t.Error("it runs beside the leader")
	}
}
