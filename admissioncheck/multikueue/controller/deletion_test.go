package controller

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

// deleteWorkload asks for the Workload to be deleted, which its job's finalizer holds up.
func (st *testEnv) deleteWorkload() {
	st.t.Helper()
	wl := st.hubWorkload()
	before := wl.DeepCopy()
	wl.Finalizers = []string{kueue.ResourceInUseFinalizer}
	if err := st.hub.Patch(st.t.Context(), wl, client.MergeFrom(before)); err != nil {
		st.t.Fatal(err)
	}
	if err := st.hub.Delete(st.t.Context(), wl); err != nil {
		st.t.Fatal(err)
	}
}

// isReleased reports whether nothing is on record any more that may run the job of the Workload.
func (st *testEnv) isReleased() bool {
	wl := st.hubWorkload()
	return wl.Status.ClusterName == nil && !meta.IsStatusConditionTrue(wl.Status.Conditions, switchyard.DispatchCondition)
}

// waitReleased waits until the hub's job shows no pods and the Workload may go, which no clock helps with.
func (st *testEnv) waitReleased() {
	st.t.Helper()
	st.eventually("the hub's job shows no pods", func() bool { return st.hubJob().Status.Active == 0 })
	st.clockStopped.Store(true)
	st.eventually("the workload may go", st.isReleased)
}

// runWithPods has the job run on a worker, which tells the hub of its pods.
func (st *testEnv) runWithPods(worker string) {
	st.t.Helper()
	st.submit()
	st.runOn(worker)
	st.setSuspended(false)
	j := st.jobOn(worker)
	j.Spec.Suspend = ptr.To(false)
	if err := st.workers[worker].WithWatch.Update(st.t.Context(), j); err != nil {
		st.t.Fatal(err)
	}
	j.Status.Active, j.Status.Ready = 1, ptr.To[int32](1)
	if err := st.workers[worker].Status().Update(st.t.Context(), j); err != nil {
		st.t.Fatal(err)
	}
	st.eventually("the hub's job shows pods", func() bool { return st.hubJob().Status.Active == 1 })
}

// setSuspended plays the controller of the hub's job.
func (st *testEnv) setSuspended(is bool) {
	st.t.Helper()
	j := st.hubJob()
	before := j.DeepCopy()
	j.Spec.Suspend = ptr.To(is)
	if err := st.hub.Patch(st.t.Context(), j, client.MergeFrom(before)); err != nil {
		st.t.Fatal(err)
	}
}

func TestTheRecordIsFoundByThoseWhoWaitForIt(t *testing.T) {
	if dispatch.ConditionType != switchyard.DispatchCondition {
		t.Errorf("%s and %s", dispatch.ConditionType, switchyard.DispatchCondition)
	}
}

func TestADeletedWorkloadWhoseJobRunsMayGoWhenTheJobIsGone(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.runWithPods("w1")
	st.setSuspended(true)
	st.deleteWorkload()
	st.eventually("the job is gone from w1", func() bool { return st.jobOn("w1") == nil && st.copyOn("w1") == nil })
	st.waitReleased()
}

func TestADeletedWorkloadIsKeptForAClusterOutOfReachUntilAPersonSaysOtherwise(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.NeverLose))
	p := st.policy
	p.ExplainAfter = time.Millisecond
	st.restart(p)
	st.waitConnected()
	st.runWithPods("w1")
	st.workers["w1"].setDown(true)
	st.eventually("w1 is lost", func() bool { s, _ := st.fleet.State("w1"); return !s.Connected && s.Failures > 0 })
	st.deleteWorkload()
	st.eventually("it is said why it stays", func() bool {
		return strings.HasPrefix(st.checkState().Message, "Kept although it is being deleted") && !st.isReleased()
	})
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.GoneAnnotation, "true")
	st.waitReleased()
}

func TestADeletedWorkloadWhoseJobIsDeletedTooIsNotKept(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.runWithPods("w1")
	st.stop() // nobody else is to look at what follows
	if err := st.hub.Delete(t.Context(), &batchv1.Job{ObjectMeta: st.hubJob().ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	st.deleteWorkload()
	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if err != nil {
		t.Fatal(err)
	}
	if l := s.observed.Local; !l.Deleted || l.KeptForJob {
		t.Errorf("deleted %t, kept %t", l.Deleted, l.KeptForJob)
	}
}

// disconnectWorkers takes workers away and waits until the hub knows.
func (st *testEnv) disconnectWorkers(workers ...string) {
	st.t.Helper()
	for _, w := range workers {
		st.workers[w].setDown(true)
	}
	for _, w := range workers {
		st.eventually(w+" is lost", func() bool { s, _ := st.fleet.State(w); return !s.Connected && s.Failures > 0 })
	}
}

// setLostTimeout has the hub wait for a lost worker for so long only, and say nothing meanwhile.
func (st *testEnv) setLostTimeout(grace time.Duration) {
	st.t.Helper()
	p := st.policy
	p.WorkerLostTimeout, p.ExplainAfter = grace, 0
	st.restart(p)
	st.waitConnected()
}

func TestTheBindingOfAnEvictedJobIsTakenBackWhenTheGraceOfItsLostClusterIsOver(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.setLostTimeout(time.Second)
	st.runWithPods("w1")
	st.evictOnHub(kueue.ReasonPreempted)
	st.setSuspended(true)
	st.eventually("the retreat is stored", func() bool { return hubworkload.DecodeState(st.hubWorkload()).Retreating() })
	st.disconnectWorkers("w1")
	st.eventually("the hub's job shows no pods", func() bool { return st.hubJob().Status.Active == 0 })
	st.clockStopped.Store(true)
	st.eventually("no cluster is bound", func() bool { return st.hubWorkload().Status.ClusterName == nil })
}

func TestTheBindingOfAnEvictedJobIsTakenBackWhenItsLastPodHasEnded(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.runWithPods("w1")
	st.evictOnHub(kueue.ReasonPreempted)
	st.setSuspended(true)
	st.eventually("the retreat is stored", func() bool { return hubworkload.DecodeState(st.hubWorkload()).Retreating() })
	updateWorkloadStatus(t, st.workers["w1"], func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "Deactivated"}, time.Now())
		workload.ReleaseQuota(wl, time.Now())
	})
	shows := func(active, terminating int32) {
		j := st.jobOn("w1")
		j.Spec.Suspend = ptr.To(true)
		if err := st.workers["w1"].WithWatch.Update(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		j.Status.Active, j.Status.Ready, j.Status.Terminating = active, ptr.To[int32](0), &terminating
		if err := st.workers["w1"].Status().Update(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		st.eventually("the hub's job shows it", func() bool {
			is := st.hubJob().Status
			return is.Active == active && ptr.Deref(is.Terminating, 0) == terminating
		})
	}
	shows(0, 1)
	if st.hubWorkload().Status.ClusterName == nil {
		t.Error("the binding was taken back while a pod was being terminated")
	}
	st.clockStopped.Store(true)
	shows(0, 0)
	st.eventually("no cluster is bound", func() bool { return st.hubWorkload().Status.ClusterName == nil })
}

// queueWithDebt has the job run on a worker, preempted by the hub, stopped there and removed, and its Workload wait for quota: that the
// worker has nothing of it any more is read only before it runs again.
func (st *testEnv) queueWithDebt(worker string) {
	st.t.Helper()
	st.submit()
	st.runOn(worker)
	st.evictOnHub(kueue.ReasonPreempted)
	st.eventually("the retreat is stored", func() bool { return hubworkload.DecodeState(st.hubWorkload()).Retreating() })
	updateWorkloadStatus(st.t, st.workers[worker], func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "Deactivated"}, time.Now())
		workload.ReleaseQuota(wl, time.Now())
	})
	st.eventually("no cluster is bound", func() bool { return st.hubWorkload().Status.ClusterName == nil })
	st.updateStatus(func(wl *kueue.Workload) { workload.ReleaseQuota(wl, time.Now()) })
	st.eventually("it is gone from "+worker, func() bool {
		copied, _ := st.fleet.Get(worker, workloadGVK(), workloadKey())
		seen, _ := st.fleet.Get(worker, batchJobKind(st.t).GVK(), jobKey())
		return st.copyOn(worker) == nil && st.jobOn(worker) == nil && copied == nil && seen == nil
	})
	if state := hubworkload.DecodeState(st.hubWorkload()); len(state.Debts) != 1 || state.Bound != "" {
		st.t.Fatalf("it does not wait as it should: %+v", state)
	}
}

func TestADeletedWorkloadInTheQueueMayGoWhenItsClusterIsBackBeforeTheOthers(t *testing.T) {
	st := newTestEnv(t, "w1", "w2", "w3")
	st.setLostTimeout(time.Hour)
	st.queueWithDebt("w1")
	st.disconnectWorkers("w1", "w2", "w3")
	st.deleteWorkload()
	st.clockStopped.Store(true)
	st.workers["w1"].setDown(false)
	st.waitReleased()
}

func TestADeletedWorkloadInTheQueueMayGoWhenThePolicyLetsIt(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.NeverLose))
	st.setLostTimeout(time.Millisecond)
	st.queueWithDebt("w1")
	st.disconnectWorkers("w1")
	st.deleteWorkload()
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.Compatible))
	st.waitReleased()
}

func TestADeletedWorkloadThatHasNoCheckAnyMoreMayGoWhenTheGraceIsOver(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.create(&kueue.ClusterQueue{ObjectMeta: annotatedMeta("cq", switchyard.RunPolicyAnnotation, string(switchyard.Compatible))})
	st.setLostTimeout(time.Second)
	st.submit()
	st.runOn("w1")
	st.updateStatus(func(wl *kueue.Workload) { wl.Status.AdmissionChecks = nil })
	j := st.jobOn("w1")
	j.Finalizers = []string{"example.com/pods-are-ending"}
	if err := st.workers["w1"].WithWatch.Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	st.deleteWorkload()
	st.eventually("the job is to go", func() bool { return !st.jobOn("w1").DeletionTimestamp.IsZero() })
	st.disconnectWorkers("w1")
	st.eventually("the workload may go", st.isReleased)
}
