package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/workload"
)

func TestAWorkloadIsOfferedToAllRunsOnTheFirstToAdmitAndFinishes(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	offersBefore, winsBefore := testutil.ToFloat64(dispatchedTotal.WithLabelValues("cq", "w1")), testutil.ToFloat64(admittedTotal.WithLabelValues("cq", "w2"))
	st.submit()
	st.waitOffered("w1", "w2")

	offer := st.copyOn("w1")
	wantLabels := map[string]string{"color": "blue", kueue.MultiKueueOriginLabel: origin}
	if diff := cmp.Diff(wantLabels, offer.Labels); diff != "" {
		t.Errorf("labels of the copy (-want +got):\n%s", diff)
	}
	wantStamps := map[string]string{switchyard.OwnerUIDAnnotation: "workload-uid", dispatch.EpochAnnotation: "1"}
	if diff := cmp.Diff(wantStamps, offer.Annotations); diff != "" {
		t.Errorf("stamps of the copy (-want +got):\n%s", diff)
	}
	if len(offer.OwnerReferences)+len(offer.Finalizers) > 0 {
		t.Errorf("the copy has owners %v and finalizers %v", offer.OwnerReferences, offer.Finalizers)
	}
	if got := st.hubWorkload().Status.NominatedClusterNames; !slices.Equal(got, []string{"w1", "w2"}) {
		t.Errorf("nominated: %v", got)
	}

	st.admitOn("w2")
	st.eventually("check Ready", func() bool { return st.checkState().State == kueue.CheckStateReady })
	if got := st.checkState().Message; got != `The workload was admitted on "w2"` {
		t.Errorf("message of the check: %q", got)
	}
	wl := st.hubWorkload()
	if ptr.Deref(wl.Status.ClusterName, "") != "w2" || len(wl.Status.NominatedClusterNames) > 0 || !workload.IsAdmitted(wl) {
		t.Errorf("hub workload is not admitted on w2: %+v", wl.Status)
	}
	st.eventually("job on w2", func() bool { return st.jobOn("w2") != nil })
	remote := st.jobOn("w2")
	if remote.Spec.ManagedBy != nil || remote.Annotations[kueue.PrebuiltWorkloadNameKey] != "job-train" || remote.Labels[kueue.MultiKueueOriginLabel] != origin {
		t.Errorf("remote job: %+v", remote)
	}
	if st.jobOn("w1") != nil {
		t.Error("the loser has the job")
	}
	st.eventually("an offer to w1 and a win of w2 are counted", func() bool {
		return testutil.ToFloat64(dispatchedTotal.WithLabelValues("cq", "w1")) == offersBefore+1 &&
			testutil.ToFloat64(admittedTotal.WithLabelValues("cq", "w2")) == winsBefore+1
	})

	completeJobOn(st, "w2")
	st.eventually("hub workload finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
	if got := st.hubJob().Status.Succeeded; got != 1 {
		t.Errorf("the workload finished before its job had the final status: succeeded=%d", got)
	}
	st.eventually("nothing left on the workers", func() bool { return st.copyOn("w2") == nil && st.jobOn("w2") == nil })

	wantWinner := []string{"create v1beta2.Workload", "create v1.Job", "delete v1.Job", "delete v1beta2.Workload"}
	if diff := cmp.Diff(wantWinner, st.workers["w2"].currentLog().snapshot()); diff != "" {
		t.Errorf("writes on the winner (-want +got):\n%s", diff)
	}
	wantLoser := []string{"create v1beta2.Workload", "delete v1beta2.Workload"}
	if diff := cmp.Diff(wantLoser, st.workers["w1"].currentLog().snapshot()); diff != "" {
		t.Errorf("writes on the loser (-want +got):\n%s", diff)
	}
}

// completeJobOn plays a worker whose job is started and completes.
func completeJobOn(st *testEnv, worker string) {
	st.t.Helper()
	j := st.hubJob()
	j.Spec.Suspend = ptr.To(false)
	if err := st.hub.Update(context.Background(), j); err != nil {
		st.t.Fatal(err)
	}
	remote := st.jobOn(worker)
	remote.Spec.Suspend = ptr.To(false)
	if err := st.workers[worker].Update(context.Background(), remote); err != nil {
		st.t.Fatal(err)
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	remote.Status = batchv1.JobStatus{
		StartTime: &now, CompletionTime: &now, Succeeded: 1,
		Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now, Message: "done"},
		},
	}
	if err := st.workers[worker].Status().Update(context.Background(), remote); err != nil {
		st.t.Fatal(err)
	}
}

func TestTheLosersCopyIsRemovedBeforeTheJobIsCreated(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	order := &callLog{}
	st.workers["w1"].setLog(order)
	st.workers["w2"].setLog(order)
	st.admitOn("w1")
	st.eventually("job on w1", func() bool { return st.jobOn("w1") != nil })
	want := []string{"delete v1beta2.Workload", "create v1.Job"}
	if diff := cmp.Diff(want, order.snapshot()); diff != "" {
		t.Errorf("writes on both workers (-want +got):\n%s", diff)
	}
}

func TestAWorkersEvictionSetsTheCheckToRetryAndTheNextReservationStartsANewEpoch(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	st.setConditionOn("w1", kueue.WorkloadEvicted, "Preempted", "preempted there")
	st.eventually("check Retry", func() bool { return st.checkState().State == kueue.CheckStateRetry })
	want := `Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"`
	if got := st.checkState().Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if c := meta.FindStatusCondition(st.hubWorkload().Status.Conditions, dispatch.ConditionType); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("the debt of w1 is not recorded: %+v", c)
	}
	st.evictAndRelease("AdmissionCheck")
	st.eventually("w1 clean", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
	st.reserveQuota()
	st.waitOffered("w1")
	if got := mirror.Epoch(st.copyOn("w1")); got != 2 {
		t.Errorf("the new copy has epoch %d", got)
	}
	st.runOn("w1")
	if got := mirror.Epoch(st.jobOn("w1")); got != 2 {
		t.Errorf("the new job has epoch %d", got)
	}
}

// evictAndRelease plays the hub's core and its job reconciler.
func (st *testEnv) evictAndRelease(reason string) {
	st.t.Helper()
	st.updateStatus(func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: reason, Message: "evicted",
		})
		wl.Status.SchedulingStats = &kueue.SchedulingStats{
			Evictions: []kueue.WorkloadSchedulingStatsEviction{{Reason: reason, Count: 1}},
		}
	})
	st.updateStatus(func(wl *kueue.Workload) { workload.ReleaseQuota(wl, time.Now()) })
}

// evictFromHub has the hub evict the Workload, and returns when the cluster has been told.
func (st *testEnv) evictFromHub(cluster string) {
	st.t.Helper()
	st.updateStatus(func(wl *kueue.Workload) {
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: "Preempted", Message: "someone else is first",
		})
	})
	st.eventually("the copy on "+cluster+" is to be deactivated", func() bool {
		wl := st.copyOn(cluster)
		return wl != nil && meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
	})
}

func TestAnEvictionByTheHubDeactivatesTheRemoteCopy(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	st.evictFromHub("w1")
	c := meta.FindStatusCondition(st.copyOn("w1").Status.Conditions, kueue.WorkloadDeactivationTarget)
	if c.Reason != string(kueue.ReasonEvictedOnManagerCluster) || c.Message != "Evicted on manager: someone else is first" {
		t.Errorf("condition %+v", c)
	}
}

func TestAForeignObjectOfTheSameNameIsNeverTouchedAndItsClusterIsSkipped(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	foreign := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job-train", Labels: map[string]string{"mine": "yes"}},
		Spec:       kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 3, Template: podTemplate()}}},
	}
	if err := st.workers["w1"].Create(context.Background(), foreign); err != nil {
		t.Fatal(err)
	}
	st.submit()
	st.waitOffered("w2")
	st.eventually("w1 is not nominated any more", func() bool { return slices.Equal(st.hubWorkload().Status.NominatedClusterNames, []string{"w2"}) })
	st.runOn("w2")
	if got := st.copyOn("w1"); got == nil || got.UID != foreign.UID || got.Labels["mine"] != "yes" || len(got.Annotations) > 0 {
		t.Errorf("the foreign workload was touched: %+v", got)
	}
}

func TestADeadWorkerDoesNotKeepAnotherFromRunningTheJob(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	st.workers["w1"].setDown(true)
	st.runOn("w2")
}

func TestACopyOnAWorkerThatWasAwayIsRemovedWhenItIsBack(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	st.workers["w1"].setDown(true)
	st.runOn("w2")
	st.workers["w1"].setDown(false)
	st.eventually("w1 clean", func() bool { return st.copyOn("w1") == nil })
}

func TestADeletedWorkloadIsRemovedFromTheWorkers(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	if err := st.hub.Delete(context.Background(), st.hubWorkload()); err != nil {
		t.Fatal(err)
	}
	st.eventually("w1 clean", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
}

func TestAWorkloadWithoutOwnerIsRejected(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.create(&kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job-train", UID: "u"}})
	st.reserveQuota()
	st.eventually("check Rejected", func() bool { return st.checkState().State == kueue.CheckStateRejected })
	if got := st.checkState().Message; !strings.HasPrefix(got, "No multikueue adapter found") {
		t.Errorf("message %q", got)
	}
}

func TestTheCheckSaysWhyAClusterDoesNotTakeTheWorkload(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.reconciler.Policy.ExplainAfter = time.Millisecond
	st.workers["w1"].setCreateError(apierrors.NewNotFound(corev1.Resource("namespaces"), "team"))
	st.submit()
	want := `"w1" refused: does not take it: create the copy of workload team/job-train: namespaces "team" not found; "w2" `
	st.eventually("the check says so", func() bool { return strings.Contains(st.checkState().Message, want) })
	st.runOn("w2")
}

func TestWritesOnTheHubForOneWorkload(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	st.admitOn("w1")
	st.eventually("job on w1", func() bool { return st.jobOn("w1") != nil })
	completeJobOn(st, "w1")
	st.eventually("hub workload finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
	st.eventually("nothing left on w1", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
	want := []string{
		"patch status v1beta2.Workload", // the test's reservation, nominated
		"patch status v1beta2.Workload", // bound, Ready and Admitted
		"patch status v1.Job",           // the final status
		"patch status v1beta2.Workload", // Finished
	}
	if diff := cmp.Diff(want, st.hubLog.snapshot()); diff != "" {
		t.Errorf("writes on the hub (-want +got):\n%s", diff)
	}
}

func TestClustersAreNominatedInTheReservationsOwnWrite(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.enqueue()
	wl := st.hubWorkload()
	reserveWithoutDispatcher(wl)
	st.reconciler.NominateClusters(t.Context(), wl, time.Now())
	if got := wl.Status.NominatedClusterNames; !slices.Equal(got, []string{"w1", "w2"}) {
		t.Errorf("nominated: %v", got)
	}
}

func TestAReservationOfASchedulerThatKnowsNoDispatcherIsDispatchedToo(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.enqueue()
	st.updateStatus(reserveWithoutDispatcher)
	st.waitOffered("w1", "w2")
	st.runOn("w2")
}

func TestNothingIsPreparedThatAsksForMoreThanANomination(t *testing.T) {
	for name, change := range map[string]func(*kueue.Workload){
		"a binding of an earlier reservation": func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w1") },
		"a nomination by somebody else":       func(wl *kueue.Workload) { wl.Status.NominatedClusterNames = []string{"w2"} },
		"an owner that cannot be dispatched":  func(wl *kueue.Workload) { wl.OwnerReferences = nil },
		"no quota":                            func(wl *kueue.Workload) { wl.Status.Conditions, wl.Status.Admission = nil, nil },
		"no check of ours":                    func(wl *kueue.Workload) { wl.Status.AdmissionChecks[0].Name = "other" },
		"another check that is not Ready yet": func(wl *kueue.Workload) {
			wl.Status.AdmissionChecks = append(wl.Status.AdmissionChecks, kueue.AdmissionCheckState{Name: "other", State: kueue.CheckStatePending})
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newTestEnv(t, "w1", "w2")
			st.enqueue()
			wl := st.hubWorkload()
			reserveWithoutDispatcher(wl)
			change(wl)
			before := wl.DeepCopy()
			st.reconciler.NominateClusters(t.Context(), wl, time.Now())
			if diff := cmp.Diff(before, wl); diff != "" {
				t.Errorf("-before +after:\n%s", diff)
			}
		})
	}
}

func TestTheIncrementalDispatcherGoesOnToTheNextWhenOneRefuses(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	p := st.policy
	p.Dispatcher, p.StepSize = dispatch.Incremental, 1
	st.restart(p)
	st.waitConnected()
	st.submit()
	st.waitOffered("w1")
	if got := st.hubWorkload().Status.NominatedClusterNames; !slices.Equal(got, []string{"w1"}) {
		t.Errorf("nominated: %v", got)
	}
	updateWorkloadStatus(t, st.workers["w1"], func(wl *kueue.Workload) {
		workload.SetPending(wl, admission.Misconfigured, "no such LocalQueue", time.Now())
	})
	st.runOn("w2")
	if st.jobOn("w1") != nil {
		t.Error("the cluster that refused has the job")
	}
	record := meta.FindStatusCondition(st.hubWorkload().Status.Conditions, dispatch.ConditionType)
	if record != nil {
		t.Errorf("what was recorded of the rounds outlives them: %+v", record)
	}
}

func TestAHubThatIsKilledAndRestartedGoesOnWhereItWas(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	st.restart(st.policy)
	st.waitConnected()
	st.runOn("w1")
	st.restart(st.policy)
	st.waitConnected()
	completeJobOn(st, "w1")
	st.eventually("hub workload finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
	st.eventually("nothing left", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil && st.copyOn("w2") == nil })
	created := slices.DeleteFunc(append(st.workers["w1"].currentLog().snapshot(), st.workers["w2"].currentLog().snapshot()...),
		func(call string) bool { return call != "create v1.Job" })
	if len(created) != 1 {
		t.Errorf("the job was created %d times", len(created))
	}
}

func TestWhatIsLeftOfAWorkloadThatWasDeletedWhileTheHubWasDownIsRemoved(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	st.stop()
	if err := st.hub.Delete(context.Background(), st.hubWorkload()); err != nil {
		t.Fatal(err)
	}
	st.startHub()
	st.eventually("w1 clean", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
}

func TestAWorkersJobThatFinishedAndVanishedWhileTheHubWatchedIsNotRunAgain(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	st.eventually("the hub has seen the job", func() bool {
		seen, _ := st.fleet.Get("w1", batchv1.SchemeGroupVersion.WithKind("Job"), jobKey())
		return seen != nil
	})
	completeJobOn(st, "w1")
	_ = st.workers["w1"].WithWatch.Delete(context.Background(), st.jobOn("w1"))
	st.eventually("hub workload finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
	if got := meta.FindStatusCondition(st.hubWorkload().Status.Conditions, kueue.WorkloadFinished).Reason; got != "Succeeded" {
		t.Errorf("finished with reason %s", got)
	}
}

func TestABoundWorkerThatIsLostKeepsItsWorkloadUntilTheGraceIsOver(t *testing.T) {
	st := newTestEnv(t, "w1", "w2", "w3")
	st.submit()
	st.runOn("w1")
	st.workers["w1"].setDown(true)
	st.eventually("w1 lost", func() bool { s, _ := st.fleet.State("w1"); return !s.Connected })
	if got := st.checkState().State; got != kueue.CheckStateReady {
		t.Errorf("the check is %s although the grace is not over", got)
	}
	short := st.policy
	short.WorkerLostTimeout = 50 * time.Millisecond
	st.restart(short)
	st.eventually("check Retry", func() bool { return st.checkState().State == kueue.CheckStateRetry })
	if got := st.checkState().Message; !strings.HasPrefix(got, "Admitting remote lost") {
		t.Errorf("message %q", got)
	}
}

func TestACopyThatItsWorkerDeclaresOutOfSyncIsDispatchedAgainWithAWarning(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	st.setConditionOn("w1", kueue.WorkloadFinished, "OutOfSync", "The prebuilt workload is out of sync with its user job")
	st.eventually("check Retry", func() bool { return st.checkState().State == kueue.CheckStateRetry })
	want := `Remote workload on worker cluster "w1" is out of sync with its user job, resetting for re-dispatch`
	if got := st.checkState().Message; !strings.HasPrefix(got, want) {
		t.Errorf("message %q", got)
	}
	if workload.IsFinished(st.hubWorkload()) {
		t.Error("the hub's workload is finished")
	}
	st.eventually("the event", func() bool {
		for {
			select {
			case e := <-st.events.Events:
				if strings.HasPrefix(e, "Warning MultiKueue Remote workload") {
					return true
				}
			default:
				return false
			}
		}
	})
}

func TestAPriorityThatChangesIsCopiedAndNothingIsMadeAnew(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.waitOffered("w1")
	before := st.copyOn("w1").UID
	wl := st.hubWorkload()
	wl.Spec.Priority = ptr.To[int32](9)
	if err := st.hub.Update(context.Background(), wl); err != nil {
		t.Fatal(err)
	}
	st.eventually("the copy has the priority", func() bool { return ptr.Deref(st.copyOn("w1").Spec.Priority, 0) == 9 })
	if st.copyOn("w1").UID != before || len(st.copyOn("w1").Spec.PodSets) != 1 {
		t.Errorf("the copy was made anew or lost its pod sets: %+v", st.copyOn("w1"))
	}
}

func TestACopyWhoseSpecSomebodyChangedIsMadeAnew(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.waitOffered("w1")
	remote := st.copyOn("w1")
	remote.Spec.PodSets[0].Count = 7
	if err := st.workers["w1"].Update(context.Background(), remote); err != nil {
		t.Fatal(err)
	}
	st.eventually("a new copy", func() bool {
		c := st.copyOn("w1")
		return c != nil && c.UID != remote.UID && c.Spec.PodSets[0].Count == 1
	})
}

func TestAJobOfAnEarlierWorkloadOfTheSameNameIsRemovedAndThenTheNewOneRuns(t *testing.T) {
	st := newTestEnv(t, "w1")
	old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "train", Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
		Annotations: map[string]string{kueue.PrebuiltWorkloadNameKey: "job-train-old", switchyard.OwnerUIDAnnotation: "old-uid"},
	}}
	if err := st.workers["w1"].Create(context.Background(), old); err != nil {
		t.Fatal(err)
	}
	st.submit()
	st.runOn("w1")
	if got := st.jobOn("w1").Annotations[switchyard.OwnerUIDAnnotation]; got != "workload-uid" {
		t.Errorf("the job belongs to %q", got)
	}
}

func TestGarbageCollectionIsNotNeededForWhatAConnectionShows(t *testing.T) {
	st := newTestEnv(t, "w1")
	orphan := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "job-train", Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
	}}
	if err := st.workers["w1"].Create(context.Background(), orphan); err != nil {
		t.Fatal(err)
	}
	st.eventually("the orphan is removed", func() bool { return st.copyOn("w1") == nil })
}
