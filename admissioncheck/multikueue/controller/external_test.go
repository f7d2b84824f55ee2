package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

func externalKind() job.Integration {
	return job.External(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"})
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
		st.reconciler.remote.addDeletedObjects(&v, s)
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
		if got := st.reconciler.ranker.buildPlacementRequest(s).Kind; got != tc.want {
			t.Errorf("asks for %q, want %q", got, tc.want)
		}
	}
}

func TestAnExternalJobIsNotStampedToStopWithoutTheHubBecauseNobodyCanPromiseThatItDoes(t *testing.T) {
	st := newTestEnv(t, "w1")
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "wl", UID: "u", ResourceVersion: "2"}}
	st.reconciler.guard.startVersion.version = "1"
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
