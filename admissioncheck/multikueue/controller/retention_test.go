package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/leaderworkerset"
	"switchyard.dev/worker/workload"
)

// retaining returns the policy of the environment with a retention.
func (st *testEnv) retaining(d time.Duration) dispatch.Policy {
	p := st.policy
	p.RetainFinished = d
	return p
}

// finishRetained runs a job on w1 of two workers, under a retention, until its end is recorded and the loser has nothing any more.
func finishRetained(t *testing.T, d time.Duration) *testEnv {
	t.Helper()
	st := newTestEnv(t, "w1", "w2")
	st.restart(st.retaining(d))
	st.waitConnected()
	st.submit()
	st.waitOffered("w1", "w2")
	st.runOn("w1")
	completeJobOn(st, "w1")
	st.eventually("hub workload finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
	st.eventually("nothing on the loser", func() bool { return st.copyOn("w2") == nil })
	if d < time.Hour { // its copy may be gone before anybody has seen its end
		return st
	}
	st.setConditionOn("w1", kueue.WorkloadFinished, "Succeeded", "Job finished successfully")
	st.eventually("the hub has seen the end of the copy", func() bool {
		seen, _ := st.fleet.Get("w1", workloadGVK(), workloadKey())
		wl, ok := seen.(*kueue.Workload)
		return ok && workload.IsFinished(wl)
	})
	return st
}

// nextPlan is what the hub would do next about the Workload.
func (st *testEnv) nextPlan() dispatch.Plan {
	st.t.Helper()
	st.reconciling.Lock()
	defer st.reconciling.Unlock()
	s, err := st.reconciler.observe(st.t.Context(), workloadKey())
	if err != nil || s == nil {
		st.t.Fatalf("observed %v, %v", s, err)
	}
	return dispatch.Step(s.state, s.observed, s.policy)
}

func (st *testEnv) waitCleared() {
	st.t.Helper()
	st.eventually("nothing on w1", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
}

func TestAFinishedJobStaysWhereItRanAsLongAsItIsRetained(t *testing.T) {
	st := finishRetained(t, time.Hour)
	plan := st.nextPlan()
	if left := plan.WakeAt.Sub(hubworkload.FinishedAt(st.hubWorkload())); plan.Reason != dispatch.Retained || len(plan.Actions) > 0 || left != time.Hour {
		t.Errorf("%+v", plan)
	}
	st.restart(st.retaining(time.Hour))
	st.waitConnected()
	if plan := st.nextPlan(); plan.Reason != dispatch.Retained || len(plan.Actions) > 0 {
		t.Errorf("after a restart: %+v", plan)
	}
	if st.jobOn("w1") == nil || st.copyOn("w1") == nil {
		t.Error("it is gone")
	}
}

func TestARetentionThatIsOverIsNoticed(t *testing.T) {
	st := finishRetained(t, 2*time.Second)
	st.waitCleared()
	if early := time.Until(hubworkload.FinishedAt(st.hubWorkload()).Add(2 * time.Second)); early > 0 {
		t.Errorf("removed %s too early", early)
	}
}

func TestARestartDoesNotBeginARetentionAnew(t *testing.T) {
	st := finishRetained(t, time.Hour)
	st.stop()
	st.updateStatus(func(wl *kueue.Workload) {
		finished := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
		finished.LastTransitionTime = metav1.NewTime(time.Now().Add(-61 * time.Minute))
	})
	st.restart(st.policy)
	st.waitCleared()
}

func TestNothingIsRetainedOnAClusterThatIsBeingDrained(t *testing.T) {
	st := finishRetained(t, time.Hour)
	st.clockStopped.Store(true)
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.DrainAnnotation, "true")
	st.waitCleared()
}

func TestNothingIsRetainedOfAWorkloadThatTheHubDoesNotHaveAnyMore(t *testing.T) {
	st := finishRetained(t, time.Hour)
	st.clockStopped.Store(true)
	if err := st.hub.Delete(t.Context(), st.hubWorkload()); err != nil {
		t.Fatal(err)
	}
	st.waitCleared()
}

// As `kubectl delete job --cascade=orphan` does.
func TestTheJobOfAWorkloadThatHasLostItsOwnerGoesWithItsCopy(t *testing.T) {
	st := finishRetained(t, time.Hour)
	wl := st.hubWorkload()
	before := wl.DeepCopy()
	wl.OwnerReferences = nil
	if err := st.hub.Patch(t.Context(), wl, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	st.eventually("the hub has seen that", func() bool { return len(st.hubWorkload().OwnerReferences) == 0 })
	if plan := st.nextPlan(); plan.Reason != dispatch.Retained || len(plan.Actions) > 0 {
		t.Errorf("%+v", plan)
	}
	st.restart(st.retaining(0))
	st.waitCleared()
}

func TestWhatServesIsNotRetained(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.stop() // nobody else is to look at what follows
	st.reconciler.Policy.RetainFinished = time.Hour
	s := &workloadScope{}
	s.original.Workload, s.original.Kind = groupWorkload(0, "w1"), leaderworkerset.Mirrored()
	if st.reconciler.resolvePolicy(t.Context(), s, nil); s.policy.RetainFinished != 0 {
		t.Errorf("retained for %s", s.policy.RetainFinished)
	}
	s.original.Kind = batchJobKind(t)
	if st.reconciler.resolvePolicy(t.Context(), s, nil); s.policy.RetainFinished != time.Hour {
		t.Errorf("a job is retained for %s", s.policy.RetainFinished)
	}
}

func TestTheLastSliceHasTheJobWhenItHasEnded(t *testing.T) {
	for _, row := range []struct {
		name string
		wl   *kueue.Workload
		has  bool
	}{
		{"one that runs", sliceOf("b", "a", 2, "quota", "bound"), true},
		{"one that has succeeded", sliceOf("b", "a", 2, "quota", "bound", "succeeded"), true},
		{"one that was replaced", sliceOf("a", "", 1, "quota", "bound", "replaced"), false},
		{"one that was given up before it had quota", sliceOf("b", "a", 2, "outofsync"), false},
		{"one that waits", sliceOf("b", "a", 2), false},
	} {
		if got := hubworkload.HasJobOf(row.wl, "a"); got != row.has {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

func TestADrainHasNoTurnsForWhatHasFinished(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.stop() // nobody else is to look at what follows
	for name, finished := range map[string]bool{"over": true, "running": false} {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)}}
		st.create(wl)
		cluster := "w1"
		wl.Status.ClusterName = &cluster
		if finished {
			workload.Finish(wl, kueue.ReasonSucceeded, "", time.Now())
		}
		if err := st.hub.Status().Update(t.Context(), wl); err != nil {
			t.Fatal(err)
		}
	}
	d := st.reconciler.newDrainer()
	for range 2 {
		if got := d.SelectWorkloads(t.Context(), "w1"); len(got) != 1 || got[0].Name != "running" {
			t.Errorf("%v has a turn", got)
		}
	}
}

func TestWhatIsRetainedNeedsNoLease(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.restart(st.retaining(time.Hour))
	st.waitConnected()
	st.enableRunOnce("w1")
	st.submit()
	st.runOn("w1")
	st.setRunPolicy(switchyard.Compatible)
	if !st.reconciler.IsLeaseNeeded("w1") {
		t.Error("a stamped job would be stopped")
	}
	completeJobOn(st, "w1")
	st.setConditionOn("w1", kueue.WorkloadFinished, "Succeeded", "Job finished successfully")
	st.eventually("no lease is needed", func() bool { return !st.reconciler.IsLeaseNeeded("w1") })
	if st.copyOn("w1") == nil {
		t.Error("its copy is gone")
	}
}

// The hub's job was deleted and made anew. The garbage collector has yet to come to the first one's Workload, which has finished.
func TestTheJobOfALaterWorkloadIsNoPredecessors(t *testing.T) {
	for _, row := range []struct {
		name    string
		created time.Duration
		there   bool
		stays   bool
	}{
		{"of a later one", time.Minute, true, true},
		{"of one that was made in the same second", 0, true, true},
		{"of an earlier one", -time.Minute, true, false},
		{"of one that is gone", 0, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			st := finishRetained(t, 0)
			st.waitCleared()
			made := st.hubWorkload().CreationTimestamp.Add(row.created)
			if row.there {
				st.create(&kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job-train-2", UID: "uid-2", CreationTimestamp: metav1.NewTime(made)}})
			}
			other := st.hubJob()
			other.ObjectMeta = metav1.ObjectMeta{
				Namespace: "team", Name: "train", Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
				Annotations: map[string]string{switchyard.OwnerUIDAnnotation: "uid-2", kueue.PrebuiltWorkloadNameKey: "job-train-2"},
			}
			if err := st.workers["w1"].Create(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			if row.stays {
				st.waitDeclined("w1")
			} else {
				st.eventually("it is removed", func() bool { return st.jobOn("w1") == nil })
			}
			if (st.jobOn("w1") != nil) != row.stays {
				t.Errorf("stays: %t", !row.stays)
			}
		})
	}
}
