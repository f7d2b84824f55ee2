package job_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/workload"
)

// lastEvent forgets what was recorded before, lets the change take effect, and returns the first event about it.
func (c *cluster) lastEvent(change func()) contracttest.Said {
	c.Helper()
	c.events()
	change()
	c.reconcileAll()
	select {
	case e := <-c.recorder.Events:
		words := strings.SplitN(e, " ", 3)
		return contracttest.Said{Kind: words[0] + " " + words[1], Text: words[2]}
	default:
		return contracttest.Said{}
	}
}

// runs is a job that has been admitted and runs.
func runs(t *testing.T, changes ...func(*batchv1.Job)) *cluster {
	t.Helper()
	c := newCluster(t, jobWith(changes...), newFlavor("h100"), class("high", 7))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	return c
}

// waits is a job whose Workload waits.
func waits(t *testing.T, changes ...func(*batchv1.Job)) *cluster {
	t.Helper()
	c := newCluster(t, jobWith(changes...), newFlavor("h100"), class("high", 7))
	c.reconcileAll()
	return c
}

func class(name string, value int32) *kueue.WorkloadPriorityClass {
	return &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
}

// asked changes the job as its user would.
func (c *cluster) asked(change func(*batchv1.Job)) func() { return func() { c.changeJob(change) } }

func more(j *batchv1.Job) {
	j.Spec.Parallelism, j.Spec.Completions = ptr.To[int32](5), ptr.To[int32](5)
}

func TestWhatIsSaidToAJobThatStarts(t *testing.T) {
	const gates = kueue.AdmissionGatedByAnnotation
	got := map[string]contracttest.Said{}
	c := newCluster(t, newJob(), newFlavor("h100"))
	got["new"] = c.lastEvent(func() {})
	got["admitted"] = c.lastEvent(func() { c.admit("h100") })
	c = waits(t)
	got["another size"] = c.lastEvent(c.asked(more))
	got["another time limit"] = c.lastEvent(c.asked(labelled(kueue.MaxExecTimeSecondsLabel, "9")))
	got["another priority class"] = c.lastEvent(c.asked(labelled(kueue.PriorityClassLabel, "high")))
	got["another queue"] = c.lastEvent(c.asked(labelled(kueue.QueueNameLabel, "other")))
	got["priority class missing"] = c.lastEvent(c.asked(labelled(kueue.PriorityClassLabel, "none")))
	c = waits(t, noted(gates, "a.io/x, b.io/y"))
	got["a gate less"] = c.lastEvent(c.asked(noted(gates, "b.io/y")))
	got["no gate left"] = c.lastEvent(c.asked(noted(gates, "")))
	c = waits(t)
	got["ended"] = c.lastEvent(func() {
		c.changeJobStatus(func(s *batchv1.JobStatus) {
			s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Message: "boom"})
		})
	})
	contracttest.Compare(t, "job events", got)
}

func TestWhatIsSaidToAJobThatIsStopped(t *testing.T) {
	got := map[string]contracttest.Said{}
	c := runs(t)
	got["evicted"] = c.lastEvent(func() {
		c.apply(func(wl *kueue.Workload) {
			workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted", Message: "made room"}, c.clock.Now())
		})
	})
	c = runs(t)
	got["Workload deleted"] = c.lastEvent(func() { c.requireNoError(c.Delete(t.Context(), c.workload())) })
	c = waits(t)
	got["started by hand"] = c.lastEvent(c.asked(started))
	c = newCluster(t, jobWith(started))
	got["without Workload"] = c.lastEvent(func() {})
	c = runs(t)
	got["another size"] = c.lastEvent(c.asked(more))
	c = newCluster(t, jobWith(started, noted(kueue.PrebuiltWorkloadNameKey, "none")))
	got["prebuilt Workload missing"] = c.lastEvent(func() {})
	contracttest.Compare(t, "job stops", got)
}

func TestWhatIsSaidToAJobOfOthers(t *testing.T) {
	got := map[string]contracttest.Said{}
	c := newCluster(t, childOf(jobset.Kind().GVK, "set", "set-uid"), managedJobSet())
	c.target = childName
	got["child of a JobSet that waits"] = c.lastEvent(func() {})

	external := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	circle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "circle", UID: "circle-uid"}}
	circle.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(circle, external)}
	c = newClusterWith(t, func(o *options) { o.ExternalFrameworks = []schema.GroupVersionKind{external} },
		jobWith(func(j *batchv1.Job) { j.OwnerReferences = circle.OwnerReferences }), circle)
	got["nested too deep"] = c.lastEvent(func() {})

	c = newClusterWith(t, keepMinute, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.deactivated(kueue.DeactivatedDueTo(kueue.ReasonAdmissionCheck))
	got["kept for long enough"] = c.lastEvent(func() { c.clock.Step(time.Minute) })
	contracttest.Compare(t, "jobs of others", got)
}

// The end of a Workload that its job cannot be started with.
func TestWhatIsSaidOfWorkloadsThatCannotStart(t *testing.T) {
	got := map[string]contracttest.Said{}
	for name, update := range map[string]kueue.PodSetUpdate{
		"check against the job's node selector": {NodeSelector: map[string]string{"arch": "amd64"}},
		"check against the flavor":              {NodeSelector: map[string]string{"gpu": "other"}},
		"check against our label":               {Labels: map[string]string{kueue.PodSetLabel: "other"}},
		"check against the job's annotation":    {Annotations: map[string]string{"a": "theirs"}, NodeSelector: map[string]string{"arch": "amd64"}},
	} {
		c := waits(t, func(j *batchv1.Job) { j.Spec.Template.Annotations = map[string]string{"a": "ours"} })
		said := c.lastEvent(func() { c.checkedWith(update) })
		if said.Kind != "Normal FinishedWorkload" || !*c.job().Spec.Suspend {
			t.Errorf("%s: told %v, suspended %v", name, said, *c.job().Spec.Suspend)
		}
		end := meta.FindStatusCondition(c.workload().Status.Conditions, kueue.WorkloadFinished)
		got[name] = contracttest.Said{Kind: end.Type + " " + string(end.Status) + " " + end.Reason, Text: end.Message}
	}
	contracttest.Compare(t, "cannot start", got)
}

// A reader of the job sees what checks say while they keep it waiting.
func TestWhatChecksSayIsToldToTheJobThatWaitsForThem(t *testing.T) {
	check := func(name kueue.AdmissionCheckReference, state kueue.CheckState, message string) kueue.AdmissionCheckState {
		return kueue.AdmissionCheckState{Name: name, State: state, Message: message}
	}
	reserved := func(checks ...kueue.AdmissionCheckState) *kueue.Workload {
		wl := &kueue.Workload{}
		workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, []string{"b"}, "Quota reserved", time.Unix(0, 0))
		wl.Status.AdmissionChecks = checks
		return wl
	}
	waiting := check("b", kueue.CheckStatePending, "at noon")
	said := reserved(waiting, check("a", kueue.CheckStatePending, "asked"), check("c", kueue.CheckStatePending, ""), check("d", kueue.CheckStateReady, "done"))
	unreserved := said.DeepCopy()
	unreserved.Status.Admission, unreserved.Status.Conditions = nil, nil
	admitted := said.DeepCopy()
	meta.SetStatusCondition(&admitted.Status.Conditions, metav1.Condition{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue, Reason: "Admitted"})
	for name, row := range map[string]struct {
		was, is *kueue.Workload
		told    bool
	}{
		"first words":        {reserved(), said, true},
		"one says more":      {reserved(waiting), said, true},
		"said before":        {said, said.DeepCopy(), false},
		"quota reserved now": {unreserved, said, true},
		"quota lost":         {said, unreserved, false},
		"admitted":           {reserved(), admitted, false},
		"nothing to say":     {reserved(waiting), reserved(), false},
	} {
		t.Run(name, func(t *testing.T) {
			events := job.CheckMessageEvents(row.was, row.is)
			if !row.told {
				if len(events) != 0 {
					t.Errorf("told %v", events)
				}
				return
			}
			if len(events) != 1 {
				t.Fatalf("told %v", events)
			}
			e := events[0]
			contracttest.Compare(t, "checks of jobs", map[string]contracttest.Said{"waiting": {Kind: "Normal " + e.Reason, Text: e.Note}})
		})
	}
}
