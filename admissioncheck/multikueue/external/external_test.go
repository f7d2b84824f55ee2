package external

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

func externalKind() job.Integration {
	return job.External(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"})
}

// fakeCache is a cache of one kind whose first list may not be there yet, or whose kind is not served.
type fakeCache struct {
	cache.Cache   // nil: whatever else is asked of it panics
	informer      *controllertest.FakeInformer
	served        atomic.Bool
	informerReads chan struct{} // one for every look at the informer, if there is room
}

func newFakeCache(synced bool) *fakeCache {
	s := &fakeCache{informer: controllertest.NewFakeInformer(controllertest.Synced), informerReads: make(chan struct{}, 1)}
	if !synced {
		s.informer = controllertest.NewFakeInformer()
	}
	s.served.Store(true)
	return s
}

func (s *fakeCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	select {
	case s.informerReads <- struct{}{}:
	default:
	}
	if !s.served.Load() {
		return nil, &meta.NoKindMatchError{GroupKind: externalKind().GVK().GroupKind()}
	}
	return s.informer, nil
}

func (s *fakeCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetName(key.Name)
	obj.SetLabels(map[string]string{"from": "elsewhere"})
	return nil
}

func TestAJobOfAnExternalKindIsReadFromItsOwnCacheAndNothingElseIs(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl"}}
	kind := externalKind()
	c := Client{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(wl).Build(),
		Caches: Caches{kind.GVK(): {kind: kind, cache: newFakeCache(true)}},
	}
	job := kind.New()
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "sim"}, job); err != nil || job.GetLabels()["from"] != "elsewhere" {
		t.Errorf("job %v, error %v", job, err)
	}
	other := &kueue.Workload{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(wl), other); err != nil || other.Name != "wl" || other.Labels["from"] != "" {
		t.Errorf("workload %v, error %v", other.ObjectMeta, err)
	}
}

func TestNobodyWaitsForJobsThatTheHubCannotSee(t *testing.T) {
	key := client.ObjectKey{Namespace: "ns", Name: "sim"}
	for _, tc := range []struct {
		name  string
		blind func(*Cache, *fakeCache)
		want  func(error) bool
	}{
		{
			name: "the kind is not served", blind: func(_ *Cache, s *fakeCache) { s.served.Store(false) }, want: meta.IsNoMatchError,
		},
		{
			name: "they may not be listed", blind: func(o *Cache, _ *fakeCache) { o.firstReadAt = time.Now().Add(-time.Hour) },
			want: func(err error) bool {
				return err != nil && strings.HasPrefix(err.Error(), "the hub cannot see Simulation.example.com: its account may not list and watch them")
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFakeCache(false)
			o := &Cache{kind: externalKind(), cache: s}
			tc.blind(o, s)
			if err := o.Get(t.Context(), key, o.kind.New()); !tc.want(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestWhoReadsWhileTheProgramStartsWaitsForTheFirstList(t *testing.T) {
	s := newFakeCache(false)
	o := &Cache{kind: externalKind(), cache: s, firstReadAt: time.Now().Add(time.Hour)} // it will never be too late
	read := make(chan error, 1)
	go func() { read <- o.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "sim"}, o.kind.New()) }()
	for range 3 {
		<-s.informerReads
	}
	select {
	case err := <-read:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	s.informer.Synced()
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// fakeController is a controller that is given a source.
type fakeController struct {
	ctrlcontroller.Controller // nil
	sources                   chan source.Source
}

func (w fakeController) Watch(s source.Source) error {
	w.sources <- s
	return nil
}

func newWatch(c fakeController, s *fakeCache) *Watch {
	return &Watch{
		Controller: c, Cache: &Cache{kind: externalKind(), cache: s},
		MapFunc:   func(context.Context, client.Object) []reconcile.Request { return nil },
		Predicate: func(bool) predicate.Predicate { return predicate.Funcs{} },
	}
}

func TestJobsAreWatchedOnceTheKindIsServedAndListed(t *testing.T) {
	s := newFakeCache(false)
	s.served.Store(false)
	w := newWatch(fakeController{sources: make(chan source.Source, 1)}, s)
	started := make(chan error, 1)
	go func() { started <- w.Start(t.Context()) }()
	<-s.informerReads
	s.served.Store(true)
	<-s.informerReads
	s.informer.Synced()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if watched, ok := w.Controller.(fakeController); !ok || len(watched.sources) != 1 {
		t.Error("nothing is watched")
	}
}

func TestTheProgramEndsWhileItWaitsForAKind(t *testing.T) {
	s := newFakeCache(false)
	ctx, cancel := context.WithCancel(t.Context())
	w := newWatch(fakeController{}, s)
	started := make(chan error, 1)
	go func() { started <- w.Start(ctx) }()
	<-s.informerReads
	cancel()
	if err := <-started; err != nil {
		t.Error(err)
	}
}

func (s *fakeCache) WaitForCacheSync(context.Context) bool { return true }
