package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config/features"
	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// describeEntry says in a word or two where the snapshot has the workload.
func describeEntry(v *View, name string) string {
	key := keyOf("ns", name)
	if r, ok := v.snap.Reservation(key); ok {
		switch {
		case r.Assumed:
			return "assumed in " + r.Queue
		case r.Admitted:
			return "admitted in " + r.Queue
		}
		return "reserving in " + r.Queue
	}
	w, ok := v.snap.Pending(key)
	switch {
	case !ok:
		return "nowhere"
	case w.Blocked != nil:
		return "blocked: " + string(w.Blocked.Reason)
	case !w.NotBefore.IsZero():
		return "backing off"
	}
	return "waiting for " + w.Queue
}

func TestTheStatusDecidesTheSnapshotEntry(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*kueue.Workload)
		want   string
	}{
		"new":       {func(*kueue.Workload) {}, "waiting for cq"},
		"reserving": {func(wl *kueue.Workload) { setReservation(wl, "cq", "red") }, "reserving in cq"},
		"admitted": {func(wl *kueue.Workload) {
			setCondition(&setReservation(wl, "cq", "red").Status.Conditions, kueue.WorkloadAdmitted, true, "Admitted", baseTime)
		}, "admitted in cq"},
		"evicted but not released": {func(wl *kueue.Workload) {
			setCondition(&setReservation(wl, "cq", "red").Status.Conditions, kueue.WorkloadEvicted, true, "Preempted", baseTime)
		}, "reserving in cq"},
		"finished": {func(wl *kueue.Workload) {
			setCondition(&setReservation(wl, "cq", "red").Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", baseTime)
		}, "nowhere"},
		"being deleted while it holds quota": {func(wl *kueue.Workload) {
			setReservation(wl, "cq", "red").DeletionTimestamp = ptr.To(metav1.NewTime(baseTime))
		}, "reserving in cq"},
		"being deleted while it waits": {func(wl *kueue.Workload) { wl.DeletionTimestamp = ptr.To(metav1.NewTime(baseTime)) }, "nowhere"},
		"deactivated":                  {func(wl *kueue.Workload) { wl.Spec.Active = ptr.To(false) }, "nowhere"},
		"to be deactivated": {func(wl *kueue.Workload) {
			setCondition(&wl.Status.Conditions, kueue.WorkloadDeactivationTarget, true, "AdmissionCheck", baseTime)
		}, "nowhere"},
		"gated": {func(wl *kueue.Workload) {
			wl.Annotations = map[string]string{kueue.AdmissionGatedByAnnotation: "budget"}
		}, "nowhere"},
		"on hold": {func(wl *kueue.Workload) {
			setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, false, "OnHold", baseTime)
		}, "nowhere"},
		"not on hold any more": {func(wl *kueue.Workload) {
			setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, false, "PendingEvaluation", baseTime)
		}, "waiting for cq"},
		"without queue":                     {func(wl *kueue.Workload) { wl.Spec.QueueName = "" }, "nowhere"},
		"of a LocalQueue that is not there": {func(wl *kueue.Workload) { wl.Spec.QueueName = "other" }, "blocked: Misconfigured"},
		"waiting for a trigger": {func(wl *kueue.Workload) {
			setCondition(&wl.Status.Conditions, kueue.WorkloadRequeued, false, "PodsReadyTimeout", baseTime)
		}, "blocked: PendingEvaluation"},
		"requeued": {func(wl *kueue.Workload) {
			setCondition(&wl.Status.Conditions, kueue.WorkloadRequeued, true, "Preempted", baseTime)
		}, "waiting for cq"},
		"missing pods of its group": {func(wl *kueue.Workload) {
			setCondition(&wl.Status.Conditions, kueue.WorkloadWaitingForReplacementPods, true, "PodsFailed", baseTime)
		}, "blocked: PendingEvaluation"},
		"with new pods in its group": {func(wl *kueue.Workload) {
			setCondition(&wl.Status.Conditions, kueue.WorkloadWaitingForReplacementPods, false, "PodsReady", baseTime)
		}, "waiting for cq"},
		"with a check in Retry": {func(wl *kueue.Workload) {
			wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "c", State: kueue.CheckStateRetry}}
		}, "blocked: PendingEvaluation"},
		"not before a time": {func(wl *kueue.Workload) {
			wl.Status.RequeueState = &kueue.RequeueState{RequeueAt: ptr.To(metav1.NewTime(timeAt(60)))}
		}, "backing off"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newBasicView()
			wl := testWorkload("w", 1, 1)
			tc.change(wl)
			setObjects(v, wl)
			if got := describeEntry(v, "w"); got != tc.want {
				t.Errorf("it is %s, want %s", got, tc.want)
			}
		})
	}
}

func TestWhatBlocksAQueueBlocksItsWorkloads(t *testing.T) {
	v := newBasicView()
	setObjects(v, testWorkload("w", 1, 1))
	expect := func(story, want string) {
		t.Helper()
		if got := describeEntry(v, "w"); got != want {
			t.Errorf("%s: it is %s, want %s", story, got, want)
		}
	}
	expect("in the beginning", "waiting for cq")

	stopped := testLocalQueue("lq", "cq")
	stopped.Spec.StopPolicy = kueue.Hold
	setObjects(v, stopped)
	expect("LocalQueue stopped", "blocked: Suspended")
	setObjects(v, testLocalQueue("lq", "cq"))
	expect("LocalQueue started", "waiting for cq")

	picky := testQueue("cq", "4", "red")
	picky.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	setObjects(v, picky)
	expect("namespace not selected", "blocked: Misconfigured")
	setObjects(v, testNamespace(map[string]string{"team": "a"}))
	expect("namespace labelled", "waiting for cq")
	picky = picky.DeepCopy()
	picky.Spec.NamespaceSelector = nil
	setObjects(v, picky)
	expect("no selector selects none", "blocked: Misconfigured")

	deleteObject(v, picky)
	expect("ClusterQueue gone: the core says so", "waiting for cq")
	deleteObject(v, testLocalQueue("lq", "cq"))
	expect("LocalQueue gone", "blocked: Misconfigured")
	setObjects(v, testLocalQueue("lq", "cq2"))
	expect("LocalQueue made again for another ClusterQueue", "waiting for cq2")
	deleteObject(v, testWorkload("w", 1, 1))
	expect("deleted", "nowhere")
}

func TestTheEvictionThatCountsDecidesThePlaceInTheQueue(t *testing.T) {
	for _, tc := range []struct {
		reason     kueue.Reason
		byCreation bool
		want       time.Time
	}{
		{kueue.ReasonPodsReadyTimeout, false, timeAt(60)},
		{kueue.ReasonPodsReadyTimeout, true, baseTime},
		{kueue.ReasonAdmissionCheck, true, timeAt(60)},
		{kueue.ReasonPreempted, false, baseTime},
	} {
		v := New(Options{OrderByCreation: tc.byCreation})
		wl := testWorkload("w", 1, 1)
		setCondition(&wl.Status.Conditions, kueue.WorkloadEvicted, true, string(tc.reason), timeAt(60))
		if got := v.queuedAt(wl); !got.Equal(tc.want) {
			t.Errorf("%s, by creation %v: queued at %s, want %s", tc.reason, tc.byCreation, got, tc.want)
		}
	}
}

func TestPodsThatAreNoLongerNeededGiveBackTheirShare(t *testing.T) {
	wl := setReservation(testWorkload("w", 4, 1), "cq", "red")
	want := func(n amount.Amount) admission.Usage {
		return admission.Usage{{FlavorResource: quota.FlavorResource{Flavor: "red", Resource: "gpu"}, Amount: n}}
	}
	if diff := cmp.Diff(want(4), reservedUsage(wl)); diff != "" {
		t.Error(diff)
	}
	wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 3}}
	if diff := cmp.Diff(want(1), reservedUsage(wl)); diff != "" {
		t.Error(diff)
	}
}

func TestWithTheGateOffAllPodsNeedQuotaUntilTheEnd(t *testing.T) {
	off, err := features.New(map[string]bool{"ReclaimablePods": false})
	if err != nil {
		t.Fatal(err)
	}
	v := New(OptionsFor(&config.Configuration{}, off))
	setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"))
	setObjects(v, setReservation(testWorkload("holder", 4, 1), "cq", "red"), testWorkload("waits", 2, 1))
	holder, waits := setReservation(testWorkload("holder", 4, 2), "cq", "red"), testWorkload("waits", 2, 2)
	holder.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 3}}
	waits.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 1}}
	setObjects(v, holder, waits)
	if batch := runCycle(v, baseTime); len(batch.Admit) != 0 {
		t.Errorf("%+v is admitted to quota that is not free", batch.Admit)
	}
	deleteObject(v, holder)
	batch := runCycle(v, baseTime)
	if len(batch.Admit) != 1 || batch.Admit[0].Assignment.PodSets[0].Count != 2 {
		t.Errorf("admitted are %+v, want all pods of the one that waits", batch.Admit)
	}
}

func reservedUsage(wl *kueue.Workload) admission.Usage { return Options{}.reservedUsage(wl) }
