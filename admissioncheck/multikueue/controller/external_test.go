package controller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
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

func (s *fakeCache) WaitForCacheSync(context.Context) bool { return true }

func (s *fakeCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetName(key.Name)
	obj.SetLabels(map[string]string{"from": "elsewhere"})
	return nil
}

func TestAJobOfAnExternalKindIsReadFromItsOwnCacheAndNothingElseIs(t *testing.T) {
	scheme := testScheme(t)
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl"}}
	kind := externalKind()
	c := externalKindClient{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(wl).Build(),
		caches: map[schema.GroupVersionKind]*externalCache{kind.GVK(): {kind: kind, cache: newFakeCache(true)}},
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
		blind func(*externalCache, *fakeCache)
		want  func(error) bool
	}{
		{
			name: "the kind is not served", blind: func(_ *externalCache, s *fakeCache) { s.served.Store(false) }, want: meta.IsNoMatchError,
		},
		{
			name: "they may not be listed", blind: func(o *externalCache, _ *fakeCache) { o.firstReadAt = time.Now().Add(-time.Hour) },
			want: func(err error) bool {
				return err != nil && strings.HasPrefix(err.Error(), "the hub cannot see Simulation.example.com: its account may not list and watch them")
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFakeCache(false)
			o := &externalCache{kind: externalKind(), cache: s}
			tc.blind(o, s)
			if err := o.get(t.Context(), key, o.kind.New()); !tc.want(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestWhoReadsWhileTheProgramStartsWaitsForTheFirstList(t *testing.T) {
	s := newFakeCache(false)
	o := &externalCache{kind: externalKind(), cache: s, firstReadAt: time.Now().Add(time.Hour)} // it will never be too late
	read := make(chan error, 1)
	go func() { read <- o.get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "sim"}, o.kind.New()) }()
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

func TestJobsAreWatchedOnceTheKindIsServedAndListed(t *testing.T) {
	s := newFakeCache(false)
	s.served.Store(false)
	w := &externalJobWatch{controller: fakeController{sources: make(chan source.Source, 1)}, reconciler: &WorkloadReconciler{}, externalCache: &externalCache{kind: externalKind(), cache: s}}
	started := make(chan error, 1)
	go func() { started <- w.Start(t.Context()) }()
	<-s.informerReads
	s.served.Store(true)
	<-s.informerReads
	s.informer.Synced()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if watched, ok := w.controller.(fakeController); !ok || len(watched.sources) != 1 {
		t.Error("nothing is watched")
	}
}

func TestTheProgramEndsWhileItWaitsForAKind(t *testing.T) {
	s := newFakeCache(false)
	ctx, cancel := context.WithCancel(t.Context())
	w := &externalJobWatch{controller: fakeController{}, reconciler: &WorkloadReconciler{}, externalCache: &externalCache{kind: externalKind(), cache: s}}
	started := make(chan error, 1)
	go func() { started <- w.Start(ctx) }()
	<-s.informerReads
	cancel()
	if err := <-started; err != nil {
		t.Error(err)
	}
}

func TestJobsSyncedLateAreRequeuedAndOthersOnlyWhenTheyChange(t *testing.T) {
	was, is := externalKind().New(), externalKind().New()
	is.SetGeneration(2)
	for _, tc := range []struct {
		name       string
		late       bool
		first, new bool
	}{
		{name: "from the start", new: true},
		{name: "late", late: true, first: true, new: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := jobEventPredicate(tc.late)
			if got := p.Create(event.CreateEvent{Object: is, IsInInitialList: true}); got != tc.first {
				t.Errorf("one of the first list: %v", got)
			}
			if got := p.Create(event.CreateEvent{Object: is}); got != tc.new {
				t.Errorf("a new one: %v", got)
			}
			if !p.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}) || p.Update(event.UpdateEvent{ObjectOld: is, ObjectNew: is}) {
				t.Error("a change of the spec must pass, another one must not")
			}
			if !p.Delete(event.DeleteEvent{Object: is}) {
				t.Error("a deletion must pass")
			}
		})
	}
}

// silentKind is a kind that does not tell how its jobs ended.
type silentKind struct{ job.Integration }

func (silentKind) ReportsOutcome() bool { return false }

func TestOnlyOfAKindThatTellsItsEndIsAJobThatWentUnfinishedKnownToBeSo(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	kind := batchJobKind(t)
	st.eventually("the hub has seen the job", func() bool {
		seen, _ := st.fleet.Get("w1", kind.GVK(), jobKey())
		return seen != nil
	})
	if err := st.workers["w1"].WithWatch.Delete(t.Context(), st.jobOn("w1")); err != nil {
		t.Fatal(err)
	}
	wl := st.hubWorkload()
	st.eventually("the hub has watched it go", func() bool {
		gone, ok := st.fleet.LastDeleted("w1", kind.GVK(), client.ObjectKeyFromObject(wl))
		return ok && gone.DeletionObserved
	})
	for _, tc := range []struct {
		kind job.Integration
		want bool
	}{{kind, true}, {silentKind{kind}, false}} {
		s := &workloadScope{original: mirror.Original{Origin: origin, Workload: wl, Kind: tc.kind}, state: dispatch.State{Epoch: 1, Bound: "w1"}}
		v := dispatch.ClusterView{Name: "w1", Copy: dispatch.Copy{Holder: dispatch.Ours}}
		st.reconciler.addDeletedObjects(&v, s)
		if v.Ended.Unfinished != tc.want {
			t.Errorf("of a kind that tells its end (%v) it is known to be unfinished: %v", tc.kind.ReportsOutcome(), v.Ended.Unfinished)
		}
	}
}

func TestACapacityReportSaysNothingOfAnExternalKindSoNothingIsAskedOfIt(t *testing.T) {
	st := newTestEnv(t, "w1")
	for _, tc := range []struct {
		kind job.Integration
		want string
	}{{batchJobKind(t), "Job.v1.batch"}, {externalKind(), ""}, {nil, ""}} {
		s := &workloadScope{original: mirror.Original{Origin: origin, Workload: &kueue.Workload{}, Kind: tc.kind}}
		if got := st.reconciler.buildPlacementRequest(s).Kind; got != tc.want {
			t.Errorf("asks for %q, want %q", got, tc.want)
		}
	}
}

func TestAnExternalJobIsNotStampedToStopWithoutTheHubBecauseNobodyCanPromiseThatItDoes(t *testing.T) {
	st := newTestEnv(t, "w1")
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "wl", UID: "u", ResourceVersion: "2"}}
	st.reconciler.startVersion.version = "1"
	for _, tc := range []struct {
		kind job.Integration
		want bool
	}{{batchJobKind(t), true}, {nil, true}, {externalKind(), false}} {
		scheme := testScheme(t)
		worker := fake.NewClientBuilder().WithScheme(scheme).Build()
		s := &workloadScope{original: mirror.Original{Origin: origin, Workload: wl, Kind: tc.kind}, state: dispatch.State{Epoch: 1}}
		action := st.reconciler.buildFleetAction(s, dispatch.Action{Verb: dispatch.CreateOffer, Cluster: "w1", Epoch: 1, StopsOnHubLost: true})
		if _, err := action.Run(t.Context(), worker); err != nil {
			t.Fatal(err)
		}
		made := &kueue.Workload{}
		if err := worker.Get(t.Context(), client.ObjectKeyFromObject(wl), made); err != nil {
			t.Fatal(err)
		}
		if got := mirror.StopsWithoutHub(made); got != tc.want {
			t.Errorf("of kind %v: stamped %v", tc.kind, got)
		}
	}
}
