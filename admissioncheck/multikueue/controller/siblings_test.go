package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// createComponent creates a Workload of an owner with several, bound to a cluster if one is named. A state other than that goes by its
// record.
func (st *testEnv) createComponent(name, owner, index, bound string) *kueue.Workload {
	st.t.Helper()
	wl := &kueue.Workload{ObjectMeta: annotatedMeta(name, kueue.ComponentWorkloadIndexAnnotation, index)}
	wl.Namespace, wl.UID = "team", types.UID(name)
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
	st.create(wl)
	if bound != "" {
		wl.Status.ClusterName = ptr.To(bound)
		st.updateWorkload(wl)
	}
	return wl
}

func (st *testEnv) updateWorkload(wl *kueue.Workload) {
	st.t.Helper()
	if err := st.hub.Status().Update(st.t.Context(), wl); err != nil {
		st.t.Fatal(err)
	}
}

func TestSiblingsLeaveADrainedClusterTogether(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.stop() // nobody else is to look at what follows
	leader := st.createComponent("a", "set", "0", "w1")
	st.createComponent("b", "set", "1", "w1")
	st.createComponent("c", "set", "2", "")
	st.createComponent("d", "another", "0", "w1")
	d := st.reconciler.newDrainer()
	next := func() (names []string) {
		for _, key := range d.SelectWorkloads(t.Context(), "w1") {
			names = append(names, key.Name)
		}
		return names
	}
	for _, want := range [][]string{{"a", "b"}, {"d"}, {"a", "b"}} {
		if diff := cmp.Diff(want, next()); diff != "" {
			t.Errorf("who leaves (-want +got):\n%s", diff)
		}
	}
	hubworkload.SetState(leader, dispatch.State{Epoch: 2, Bound: "w1", Debts: []dispatch.Debt{{Cluster: "w1", Epoch: 1}}}, metav1.Now().Time)
	st.updateWorkload(leader)
	for _, want := range [][]string{{"d"}, {"b"}} {
		if diff := cmp.Diff(want, next()); diff != "" {
			t.Errorf("who leaves after the first has gone (-want +got):\n%s", diff)
		}
	}
}

func TestTheOthersKnowThatASiblingHasLeftTheirCluster(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.stop() // nobody else is to look at what follows
	leader, follower := st.createComponent("a", "set", "0", "w1"), st.createComponent("b", "set", "1", "w1")
	left := func() bool {
		var l dispatch.Local
		st.reconciler.observeSiblings(t.Context(), follower, &l)
		return l.Siblings.Left
	}
	if left() {
		t.Error("both are there")
	}
	hubworkload.SetState(leader, dispatch.State{Epoch: 2, Bound: "w1", Debts: []dispatch.Debt{{Cluster: "w1", Epoch: 1}}}, metav1.Now().Time)
	st.updateWorkload(leader)
	if !left() {
		t.Error("the first has been given up there")
	}
}

func TestOneOfSeveralSiblingsIsFirstWhateverTheirIndexesAre(t *testing.T) {
	for _, index := range []string{"0", "x"} {
		st := newTestEnv(t, "w1")
		st.stop() // nobody else is to look at what follows
		var free []string
		all := []*kueue.Workload{st.createComponent("b", "set", index, ""), st.createComponent("a", "set", index, ""), st.createComponent("c", "set", index, "")}
		for _, wl := range all {
			var l dispatch.Local
			if st.reconciler.observeSiblings(t.Context(), wl, &l); !l.Siblings.Awaited {
				free = append(free, wl.Name)
			}
		}
		if diff := cmp.Diff([]string{"a"}, free); diff != "" {
			t.Errorf("who may choose a cluster (-want +got):\n%s", diff)
		}
	}
}

func TestWhoWaitsForASiblingChoosesAClusterWhenItIsNoMoreOrOver(t *testing.T) {
	for name, end := range map[string]func(*testEnv, *kueue.Workload) error{
		"deleted": func(st *testEnv, wl *kueue.Workload) error { return st.hub.Delete(t.Context(), wl) },
		"being deleted": func(st *testEnv, wl *kueue.Workload) error {
			wl.Finalizers = []string{kueue.ResourceInUseFinalizer}
			return errors.Join(st.hub.Update(t.Context(), wl), st.hub.Delete(t.Context(), wl))
		},
		"finished by the controller of its job": func(st *testEnv, wl *kueue.Workload) error {
			workload.Finish(wl, "Succeeded", "done", time.Now())
			return st.hub.Status().Update(t.Context(), wl)
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newTestEnv(t, "w1")
			first, second := st.createComponent("a", "set", "0", ""), st.createComponent("b", "set", "1", "")
			reserveWithoutDispatcher(second)
			second.Status.NominatedClusterNames = []string{"w1"}
			st.updateWorkload(second)
			seen := func() *kueue.Workload {
				wl := &kueue.Workload{}
				_ = st.hub.Get(t.Context(), client.ObjectKeyFromObject(second), wl)
				return wl
			}
			st.eventually("it looks for no cluster", func() bool { return len(seen().Status.NominatedClusterNames) == 0 })
			if err := end(st, first); err != nil {
				t.Fatal(err)
			}
			st.eventually("it looks for a cluster itself", func() bool { return len(seen().Status.NominatedClusterNames) == 1 })
		})
	}
}

func TestWhichChangesRequeueSiblings(t *testing.T) {
	bound := func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w1") }
	for _, c := range []struct {
		name     string
		old, now func(*kueue.Workload)
		want     bool
	}{
		{"nothing", bound, bound, false},
		{"a cluster is bound", func(*kueue.Workload) {}, bound, true},
		{"it is given up there", bound, func(wl *kueue.Workload) {
			hubworkload.SetState(wl, dispatch.State{Epoch: 2, Bound: "w1", Debts: []dispatch.Debt{{Cluster: "w1", Epoch: 1}}}, time.Now())
		}, true},
		{"it is over", bound, func(wl *kueue.Workload) { bound(wl); workload.Finish(wl, "Succeeded", "done", time.Now()) }, true},
		{"it is going", bound, func(wl *kueue.Workload) { bound(wl); wl.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
		{"it is offered", func(*kueue.Workload) {}, func(wl *kueue.Workload) { wl.Status.NominatedClusterNames = []string{"w1"} }, false},
		{"it is the only one of its owner", func(wl *kueue.Workload) { wl.Annotations = nil }, func(wl *kueue.Workload) { wl.Annotations = nil; bound(wl) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := func(change func(*kueue.Workload)) *kueue.Workload {
				wl := &kueue.Workload{ObjectMeta: annotatedMeta("a", kueue.ComponentWorkloadIndexAnnotation, "0")}
				change(wl)
				return wl
			}
			if got := hubworkload.SiblingChanged().Update(event.UpdateEvent{ObjectOld: of(c.old), ObjectNew: of(c.now)}); got != c.want {
				t.Errorf("told: %t", got)
			}
		})
	}
}
