package controller

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// forgeJob makes a job of the name of the Workload's job on a worker. It says that it has succeeded, as any user with the
// right to create jobs there could write.
func (st *testEnv) forgeJob(worker string, change func(*batchv1.Job)) *batchv1.Job {
	st.t.Helper()
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", Labels: map[string]string{kueue.MultiKueueOriginLabel: origin}},
		Spec:       batchv1.JobSpec{Template: podTemplate()},
	}
	if change != nil {
		change(j)
	}
	if err := st.workers[worker].WithWatch.Create(st.t.Context(), j); err != nil {
		st.t.Fatal(err)
	}
	st.completeJob(worker, j)
	return j
}

func (st *testEnv) completeJob(worker string, j *batchv1.Job) {
	st.t.Helper()
	now := metav1.Now()
	j.Status = batchv1.JobStatus{
		StartTime: &now, CompletionTime: &now, Succeeded: 1,
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, Message: "forged"}},
	}
	if err := st.workers[worker].Status().Update(st.t.Context(), j); client.IgnoreNotFound(err) != nil { // the hub may remove it
		st.t.Fatal(err)
	}
}

// waitHandled waits until the hub's informer has shown it the end of a job, or the hub has removed that.
func (st *testEnv) waitHandled(worker string) {
	st.t.Helper()
	kind := batchJobKind(st.t)
	st.eventually("the hub sees it", func() bool {
		seen, _ := st.fleet.Get(worker, kind.GVK(), jobKey())
		return seen != nil && kind.Progress(seen).Finished != nil || st.jobOn(worker) == nil
	})
}

// expectRun checks that the Workload goes its way all the same: it is bound to a worker, its job made there, and its own end counts.
func (st *testEnv) expectRun(worker string) {
	st.t.Helper()
	st.eventually("check Ready, job on "+worker, func() bool {
		if wl := st.copyOn(worker); wl != nil && !workload.HasQuota(wl) { // perhaps that of a later epoch
			workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", time.Now())
			_ = kube.ApplyAdmission(st.t.Context(), st.workers[worker], wl)
		}
		return st.checkState().State == kueue.CheckStateReady && st.jobOn(worker) != nil
	})
	if wl := st.hubWorkload(); workload.IsFinished(wl) || st.hubJob().Status.Succeeded > 0 {
		st.t.Fatalf("a forged result is recorded: %+v, %+v", wl.Status.Conditions, st.hubJob().Status)
	}
	st.completeJob(worker, st.jobOn(worker))
	st.eventually("its own end is recorded", func() bool { return workload.IsFinished(st.hubWorkload()) })
}

func TestAForgedJobEndsNothing(t *testing.T) {
	named := func(j *batchv1.Job) { j.Labels[kueue.PrebuiltWorkloadNameKey] = "job-train" }
	// A user that knows the Workload's UID can make what the hub would make, and cannot be told from a hub whose record was
	// lost.
	for name, change := range map[string]func(*batchv1.Job){"with the public label only": nil, "that names the Workload": named} {
		t.Run(name+", on a cluster that is not listed", func(t *testing.T) {
			st := newTestEnv(t, "w1", "w2")
			config := &kueue.MultiKueueConfig{}
			if err := st.hub.Get(t.Context(), client.ObjectKey{Name: "config"}, config); err != nil {
				t.Fatal(err)
			}
			config.Spec.Clusters = []string{"w1"}
			if err := st.hub.Update(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			st.enqueue()
			st.forgeJob("w2", change)
			st.waitHandled("w2")
			st.reserveQuota()
			st.expectRun("w1")
		})
		t.Run(name+", on a cluster that was offered the workload", func(t *testing.T) {
			st := newTestEnv(t, "w1", "w2")
			st.submit()
			st.waitOffered("w1", "w2")
			st.forgeJob("w2", change)
			st.waitHandled("w2")
			st.expectRun("w1")
		})
	}
}

func TestTheStatusOfAJobThatTookThePlaceOfOursIsNotShown(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	ours := st.jobOn("w1")
	st.adoptCopy("w1", ours.UID)
	st.reconciling.Lock() // once the hub has seen that ours went unfinished, it runs the job again
	st.forgeInPlaceOf("w1", ours)
	st.waitHandled("w1")
	st.reconciling.Unlock()
	st.eventually("the hub says that it does not know", func() bool { return strings.HasPrefix(st.checkState().Message, "Result unknown") })
	if workload.IsFinished(st.hubWorkload()) || st.hubJob().Status.Succeeded > 0 {
		t.Errorf("a forged result is recorded: %+v", st.hubWorkload().Status)
	}
}

// forgeInPlaceOf deletes the hub's job from a worker, and makes one that says all that it said, and that it has succeeded.
func (st *testEnv) forgeInPlaceOf(worker string, ours *batchv1.Job) {
	st.t.Helper()
	if err := st.workers[worker].WithWatch.Delete(st.t.Context(), ours); err != nil {
		st.t.Fatal(err)
	}
	st.forgeJob(worker, func(j *batchv1.Job) { j.Labels, j.Annotations = ours.Labels, ours.Annotations })
}

func TestTheStatusOfAJobThatTookThePlaceOfOneThatWasSeenToGoIsNotShown(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	ours := st.jobOn("w1")
	st.adoptCopy("w1", ours.UID)
	forged := ours.DeepCopy()
	if err := st.workers["w1"].WithWatch.Delete(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	st.eventually("the hub gives the run up", func() bool { return st.checkState().State == kueue.CheckStateRetry })
	st.forgeJob("w1", func(j *batchv1.Job) { j.Labels, j.Annotations = forged.Labels, forged.Annotations })
	st.waitHandled("w1")
	st.evictAndRelease("AdmissionCheck")
	st.eventually("w1 clean", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
	st.reserveQuota()
	st.expectRun("w1")
}

// adoptCopy plays a worker whose job takes up the copy.
func (st *testEnv) adoptCopy(worker string, uid types.UID) {
	st.t.Helper()
	wl := st.copyOn(worker)
	before := wl.DeepCopy()
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: uid, Controller: ptr.To(true)}}
	if err := st.workers[worker].Patch(st.t.Context(), wl, client.MergeFrom(before)); err != nil {
		st.t.Fatal(err)
	}
	st.eventually("the hub sees that", func() bool {
		seen, _ := st.fleet.Get(worker, workloadGVK(), workloadKey())
		return seen != nil && len(seen.GetOwnerReferences()) > 0
	})
}

func TestAForgedCopyThatHasFinishedWithoutAJobEndsNothing(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.waitOffered("w1", "w2")
	st.setConditionOn("w2", kueue.WorkloadFinished, "Succeeded", "forged")
	st.eventually("the hub sees it", func() bool {
		seen, _ := st.fleet.Get("w2", workloadGVK(), workloadKey())
		wl, ok := seen.(*kueue.Workload)
		return ok && workload.IsFinished(wl)
	})
	st.expectRun("w1")
}

// A stock hub has begun the Workload: nothing bears a stamp, and its end counts once the job is the one that the copy belongs to.
func TestTheEndOfWhatAStockHubBeganCounts(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	unstamp := func(obj client.Object) {
		before, ok := obj.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatal("no object")
		}
		annotations := obj.GetAnnotations()
		delete(annotations, switchyard.OwnerUIDAnnotation)
		delete(annotations, dispatch.EpochAnnotation)
		obj.SetAnnotations(annotations)
		if err := st.workers["w1"].Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	unstamp(st.jobOn("w1"))
	unstamp(st.copyOn("w1"))
	st.adoptCopy("w1", st.jobOn("w1").UID)
	st.completeJob("w1", st.jobOn("w1"))
	st.eventually("its end is recorded", func() bool { return workload.IsFinished(st.hubWorkload()) })
}
