package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

// configLosses are the ways in which a dispatched Workload may lose what it goes by.
func configLosses() map[string]func(*testEnv) {
	return map[string]func(*testEnv){
		"the config is deleted": func(st *testEnv) {
			st.deleteFromHub(&kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "config"}})
		},
		"the check is deleted": func(st *testEnv) {
			st.deleteFromHub(&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}})
		},
		"the queue asks for the check no more": func(st *testEnv) {
			st.updateStatus(func(wl *kueue.Workload) { wl.Status.AdmissionChecks = nil })
		},
	}
}

func TestAWorkloadThatLosesItsCheckOrConfigIsNotForgotten(t *testing.T) {
	for name, lose := range configLosses() {
		t.Run(name+", and the job ends", func(t *testing.T) {
			st := newTestEnv(t, "w1", "w2")
			st.submit()
			st.runOn("w1")
			lose(st)
			completeJobOn(st, "w1")
			st.eventually("hub workload finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
			if got := st.hubJob().Status.Succeeded; got != 1 {
				t.Errorf("the final status was not copied: succeeded=%d", got)
			}
		})
		t.Run(name+", and the hub evicts", func(t *testing.T) {
			st := newTestEnv(t, "w1", "w2")
			st.submit()
			st.runOn("w1")
			lose(st)
			st.evictOnHub(kueue.ReasonPreempted)
			st.eventually("the copy on w1 is to be deactivated", func() bool {
				wl := st.copyOn("w1")
				return wl != nil && meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
			})
			if st.copyOn("w2") != nil {
				t.Error("offered to w2")
			}
		})
	}
}

// Nothing is recorded of a first epoch without debts: what is seen on the cluster says that the run is ours, if only its job is left.
func TestAWorkloadThatLosesItsCheckAndItsCopyIsNotForgotten(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.runOn("w1")
	st.updateStatus(func(wl *kueue.Workload) { wl.Status.AdmissionChecks = nil })
	if err := st.workers["w1"].WithWatch.Delete(t.Context(), st.copyOn("w1")); err != nil {
		t.Fatal(err)
	}
	completeJobOn(st, "w1")
	st.eventually("hub workload finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
}

func TestAWorkloadWithoutConfigIsDispatchedOnWhenThereIsOneAgain(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	config := &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Spec: kueue.MultiKueueConfigSpec{Clusters: []string{"w1", "w2"}}}
	st.submit()
	st.runOn("w1")
	st.deleteFromHub(config)
	st.setConditionOn("w1", kueue.WorkloadEvicted, "Preempted", "preempted there")
	st.eventually("check Retry", func() bool { return st.checkState().State == kueue.CheckStateRetry })
	st.evictAndRelease("AdmissionCheck")
	st.eventually("w1 clean", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
	st.reserveQuota()
	st.eventually("w1 owes nothing", func() bool { return len(hubworkload.DecodeState(st.hubWorkload()).Debts) == 0 })
	if got := st.hubWorkload().Status.NominatedClusterNames; len(got) > 0 || st.copyOn("w1") != nil || st.copyOn("w2") != nil {
		t.Errorf("offered to %v without a config", got)
	}
	config.ResourceVersion = ""
	st.create(config)
	st.waitOffered("w1", "w2")
	st.runOn("w2")
}

func TestWhatIsLeftOfAForeignDispatchersBindingIsLeftAlone(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.stop() // nobody else is to look at what follows
	st.enqueue()
	st.updateStatus(func(wl *kueue.Workload) {
		reserveWithoutDispatcher(wl)
		wl.Status.AdmissionChecks[0].Name = "another"
		wl.Status.ClusterName = ptr.To("w1")
	})
	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if s != nil || err != nil {
		t.Errorf("there is something to decide: %+v, %v", s, err)
	}
}

func TestWithoutAConfigNothingIsRunTwice(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.runOn("w1")
	st.stop() // nobody else is to look at what follows
	st.deleteFromHub(&kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "config"}})
	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if err != nil || s == nil {
		t.Fatalf("nothing to decide: %v", err)
	}
	if s.policy.OnWorkerLost != dispatch.Hold {
		t.Errorf("policy %q", s.policy.Name())
	}
	if i := slices.IndexFunc(s.observed.Clusters, func(v dispatch.ClusterView) bool { return v.Name == "w2" && v.InConfig }); i >= 0 {
		t.Error("w2 counts as listed")
	}
}

// deleteFromHub deletes something that the dispatcher goes by.
func (st *testEnv) deleteFromHub(obj client.Object) {
	st.t.Helper()
	if err := st.hub.Delete(context.Background(), obj); err != nil {
		st.t.Fatal(err)
	}
}

// evictOnHub plays the hub's core that evicts for a reason of its own.
func (st *testEnv) evictOnHub(reason kueue.Reason) {
	st.t.Helper()
	st.updateStatus(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: admission.Reason(reason), Message: "someone else is first"}, time.Now())
	})
}

func TestTheBindingIsTakenBackWhenTheWorkerHasStoppedTheEvictedJob(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	st.evictOnHub(kueue.ReasonPreempted)
	st.eventually("the copy on w1 is to be deactivated", func() bool {
		wl := st.copyOn("w1")
		return wl != nil && meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
	})
	if got := ptr.Deref(st.hubWorkload().Status.ClusterName, ""); got != "w1" {
		t.Errorf("bound to %q although w1 has stopped nothing yet", got)
	}
	updateWorkloadStatus(t, st.workers["w1"], func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "Deactivated"}, time.Now())
		workload.ReleaseQuota(wl, time.Now())
	})
	st.eventually("no cluster is bound", func() bool { return st.hubWorkload().Status.ClusterName == nil })
	if state := hubworkload.DecodeState(st.hubWorkload()); len(state.Debts) != 1 || !workload.HasQuota(st.hubWorkload()) {
		t.Errorf("more than the binding was taken back: %+v", state)
	}
}
