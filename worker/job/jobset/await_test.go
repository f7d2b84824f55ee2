package jobset_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobset"
)

var noon = metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

func TestWhatAJobSetAwaitsOfItsController(t *testing.T) {
	type change = func(*jobsetv1.JobSet)
	resume := func(js *jobsetv1.JobSet) { js.Spec.Suspend = ptr.To(false) }
	known := func(status metav1.ConditionStatus) change {
		return func(js *jobsetv1.JobSet) {
			js.Status.Conditions = append(js.Status.Conditions, metav1.Condition{
				Type: string(jobsetv1.JobSetSuspended), Status: status, LastTransitionTime: noon,
			})
		}
	}
	for _, c := range []struct {
		name    string
		changes []change
		want    fence.Reaction
	}{
		{"that nobody has seen: what keeps its status empty may be its own fault", []change{resume}, ""},
		{"suspended, and its controller knows", []change{suspending, known(metav1.ConditionTrue)}, ""},
		{"resumed, and its controller takes it for suspended", []change{suspending, known(metav1.ConditionTrue), resume}, fence.ControllerObserves},
		{"resumed in order: that is said when all have started", []change{suspending, known(metav1.ConditionTrue), resume, func(js *jobsetv1.JobSet) {
			js.Spec.StartupPolicy = &jobsetv1.StartupPolicy{StartupPolicyOrder: jobsetv1.InOrder}
		}}, ""},
		{"resumed, and its controller knows", []change{started, known(metav1.ConditionFalse), resume}, ""},
		{"suspended with active jobs", []change{started, known(metav1.ConditionFalse)}, fence.PodsTold},
		{"deleted: its jobs say what becomes of their pods", []change{started, func(js *jobsetv1.JobSet) {
			js.DeletionTimestamp, js.Finalizers = &noon, []string{metav1.FinalizerDeleteDependents}
		}}, ""},
		{"ended", []change{jobset.Examples().Failed}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			js := sample()
			js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](70)
			for _, change := range c.changes {
				change(js)
			}
			got, grace := job.NewIntegration(jobset.Kind()).ExpectedReaction(js)
			if got != c.want || got != "" && grace != 70*time.Second {
				t.Errorf("%q with a grace of %v, want %q", got, grace, c.want)
			}
		})
	}
}

func TestWhenAJobSetsControllerHasActed(t *testing.T) {
	js := sample()
	if got := job.NewIntegration(jobset.Kind()).LastControllerUpdate(js); !got.IsZero() {
		t.Errorf("a JobSet that nobody has seen: %v", got)
	}
	for _, seconds := range []int{3, 1} {
		js.Status.Conditions = append(js.Status.Conditions, metav1.Condition{LastTransitionTime: metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))})
	}
	if got := job.NewIntegration(jobset.Kind()).LastControllerUpdate(js); !got.Equal(noon.Add(3 * time.Second)) {
		t.Errorf("%v", got)
	}
}
