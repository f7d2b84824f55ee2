package controller

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// newDeleteCounter is a worker that counts what it is asked to delete.
func newDeleteCounter(t *testing.T, on *fakeServer) (c client.Client, asked func() int) {
	t.Helper()
	count := 0
	c = interceptor.NewClient(on.WithWatch, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			count++
			return c.Delete(ctx, obj, o...)
		},
	})
	return c, func() int { return count }
}

func TestWhatAWorkerHasRemovedIsNotRemovedAgainThoughItIsStillSeen(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.waitOffered("w1")
	st.stop() // nobody else is to look at what follows, and what is seen stays as it is
	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if err != nil {
		t.Fatal(err)
	}
	worker, asked := newDeleteCounter(t, st.workers["w1"])
	for _, a := range []dispatch.Action{ // one, and what is decided next on what is seen still
		{Verb: dispatch.Retract, Cluster: "w1", Epoch: 2, SpareFinished: true},
		{Verb: dispatch.Retract, Cluster: "w1", Epoch: 2},
		{Verb: dispatch.Retract, Cluster: "w1", Epoch: 3, Foreground: true},
	} {
		if _, err := st.reconciler.buildFleetAction(s, a).Run(t.Context(), worker); err != nil {
			t.Fatal(err)
		}
	}
	if st.copyOn("w1") != nil || asked() != 1 {
		t.Errorf("deleted %d times, still there: %t", asked(), st.copyOn("w1") != nil)
	}
}

func TestARemovalOfAnOlderEpochSaysNothingOfALaterOne(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.waitOffered("w1")
	st.stop()
	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if err != nil {
		t.Fatal(err)
	}
	worker, asked := newDeleteCounter(t, st.workers["w1"])
	for _, below := range []int64{1, 2} {
		a := dispatch.Action{Verb: dispatch.Retract, Cluster: "w1", Epoch: below}
		if _, err := st.reconciler.buildFleetAction(s, a).Run(t.Context(), worker); err != nil {
			t.Fatal(err)
		}
	}
	if st.copyOn("w1") != nil || asked() != 1 {
		t.Errorf("deleted %d times, still there: %t", asked(), st.copyOn("w1") != nil)
	}
}

func TestACopyThatWaitsForOurFinalizerIsRemovedAgain(t *testing.T) {
	r := NewWorkloadReconciler(&WorkloadReconciler{Clock: clocktesting.NewFakePassiveClock(noon)})
	r.tracker.recordAnswer(mirror.Original{Workload: &kueue.Workload{}}, dispatch.Action{Verb: dispatch.Retract}, tracker.Answer{Removed: []string{"workload"}, Connection: 1}, r.Clock.Now())
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{UID: "workload", Finalizers: []string{kueue.ResourceInUseFinalizer}}}
	if got := r.tracker.withoutRemoved(mirror.Found{Workload: wl}, 1, r.Clock.Now()); got.Workload != nil {
		t.Error("its removal is not seen yet")
	}
	wl.DeletionTimestamp = ptr.To(metav1.NewTime(noon.Add(time.Second)))
	if got := r.tracker.withoutRemoved(mirror.Found{Workload: wl}, 1, r.Clock.Now()); got.Workload == nil {
		t.Error("nobody takes the finalizer off")
	}
}

// A worker that is put back to a backup shows again what it had removed. Only the list of the next connection tells the hub
// of it or, if the connection lives on, the cache.
func TestWhatAWorkerHasAgainAfterARestoreIsRemovedAgain(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	back := []client.Object{st.copyOn("w1"), st.jobOn("w1")}
	for _, obj := range []client.Object{st.hubJob(), st.hubWorkload()} {
		if err := st.hub.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	st.waitClean("w1")
	for _, obj := range back {
		if obj.SetResourceVersion(""); obj.GetUID() == "" {
			t.Fatal("what came back could be something else")
		}
		if err := st.workers["w1"].Create(t.Context(), obj); err != nil { // with the same UID
			t.Fatal(err)
		}
	}
	st.reconnectWorker("w1")
	st.waitClean("w1")
}

// reconnectWorker has a worker connected to once more, with other credentials.
func (st *testEnv) reconnectWorker(worker string) {
	st.t.Helper()
	before, _ := st.fleet.State(worker)
	st.fleet.Connect(worker, fleet.Credentials{Config: &rest.Config{Host: worker}, Fingerprint: "another"})
	st.eventually("another connection", func() bool {
		s, _ := st.fleet.State(worker)
		return s.Connected && s.ConnectionNumber > before.ConnectionNumber
	})
}
