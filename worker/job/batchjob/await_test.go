package batchjob_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
)

func TestWhatAJobAwaitsOfItsController(t *testing.T) {
	resume := func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) }
	terminating := func(j *batchv1.Job) { suspending(j); j.Status.Terminating = ptr.To[int32](3) }
	deleted := func(finalizer string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.DeletionTimestamp, j.Finalizers = &noon, []string{finalizer} }
	}
	managedBy := func(name string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Spec.ManagedBy = &name }
	}
	for _, c := range []struct {
		name    string
		changes []func(*batchv1.Job)
		want    fence.Reaction
	}{
		{"created suspended, and nobody has looked", nil, fence.ControllerObserves},
		{"suspended, and its controller knows", []func(*batchv1.Job){suspending}, ""},
		{"resumed, and its controller takes it for suspended", []func(*batchv1.Job){suspending, resume}, fence.ControllerObserves},
		{"resumed, and never started", []func(*batchv1.Job){resume}, fence.ControllerObserves},
		{"resumed and started without a pod", []func(*batchv1.Job){resume, func(j *batchv1.Job) { j.Status.StartTime = &noon }}, ""},
		{"running", []func(*batchv1.Job){resume, started}, ""},
		{"suspended with active pods", []func(*batchv1.Job){started}, fence.PodsTold},
		{"suspended with pods on their way out", []func(*batchv1.Job){terminating}, fence.PodsEnd},
		{"succeeded", []func(*batchv1.Job){resume, succeeded}, ""},
		{"failed, and nobody has seen it suspended", []func(*batchv1.Job){failed}, ""},
		{"deleted in the foreground while it runs", []func(*batchv1.Job){resume, started, deleted(metav1.FinalizerDeleteDependents)}, fence.PodsEnd},
		{"deleted in the foreground, without pods", []func(*batchv1.Job){deleted(metav1.FinalizerDeleteDependents)}, ""},
		{"kept by somebody else's finalizer", []func(*batchv1.Job){started, deleted("example.com/keep")}, ""},
		{"deleted so that its pods stay", []func(*batchv1.Job){started, deleted(metav1.FinalizerOrphanDependents)}, ""},
		{"run elsewhere", []func(*batchv1.Job){started, managedBy(kueue.MultiKueueControllerName)}, ""},
		{"run by another controller", []func(*batchv1.Job){started, managedBy("example.com/mine")}, ""},
		{"expressly run by its own", []func(*batchv1.Job){started, managedBy(batchv1.JobControllerName)}, fence.PodsTold},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := sample()
			j.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](7)
			for _, change := range c.changes {
				change(j)
			}
			before := j.DeepCopy()
			got, grace := job.NewIntegration(batchjob.Kind()).ExpectedReaction(j)
			if want := 7 * time.Second; got != c.want || got != "" && grace != want {
				t.Errorf("%q with a grace of %v, want %q", got, grace, c.want)
			}
			if !cmp.Equal(before, j) {
				t.Error("it has changed the job")
			}
		})
	}
}

func TestWhenAJobsControllerHasActed(t *testing.T) {
	at := func(seconds int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second)) }
	j := sample()
	acted := func() time.Time { return job.NewIntegration(batchjob.Kind()).LastControllerUpdate(j) }
	if got := acted(); !got.IsZero() {
		t.Errorf("a job that nobody has seen: %v", got)
	}
	j.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, LastTransitionTime: at(2)},
		{Type: "Other", LastTransitionTime: at(1)},
	}
	if got := acted(); !got.Equal(at(2).Time) {
		t.Errorf("by its conditions %v", got)
	}
	j.Status.StartTime = ptr.To(at(3))
	if got := acted(); !got.Equal(at(3).Time) {
		t.Errorf("by its start %v", got)
	}
	j.Status.CompletionTime = ptr.To(at(4))
	if got := acted(); !got.Equal(at(4).Time) {
		t.Errorf("by its end %v", got)
	}
	j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
	if got := acted(); !got.IsZero() {
		t.Errorf("what was mirrored is taken for its own: %v", got)
	}
}
