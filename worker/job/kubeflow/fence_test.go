package kubeflow_test

import (
	"testing"
	"time"

	training "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/kubeflow"
)

var noon = metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

func TestWhatATrainingJobAwaitsOfItsOperator(t *testing.T) {
	examples := kubeflow.PyTorchExamples()
	known := func(suspended corev1.ConditionStatus) training.JobStatus {
		return training.JobStatus{Conditions: []training.JobCondition{{Type: training.JobSuspended, Status: suspended}}}
	}
	for name, row := range map[string]struct {
		suspend bool
		status  training.JobStatus
		want    fence.Reaction
	}{
		"a new job may be none of the operator's":     {true, training.JobStatus{}, ""},
		"its operator knows that it is suspended":     {true, known("True"), ""},
		"its operator has it for resumed":             {true, known("False"), fence.ControllerObserves},
		"pods of a resumed job may be what cannot be": {false, known("True"), ""},
		"pods of a suspended job run":                 {true, training.JobStatus{ReplicaStatuses: map[training.ReplicaType]*training.ReplicaStatus{"Worker": {Active: 2}}}, fence.PodsTold},
	} {
		t.Run(name, func(t *testing.T) {
			j := examples.Job()
			j.Spec.RunPolicy.Suspend, j.Status = ptr.To(row.suspend), row.status
			if got, _ := job.NewIntegration(kubeflow.PyTorchKind()).ExpectedReaction(j); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestWhenAnOperatorHasActedOnATrainingJob(t *testing.T) {
	later := func(seconds int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second)) }
	j := kubeflow.TFExamples().Job()
	kind := job.NewIntegration(kubeflow.TFKind())
	if got := kind.LastControllerUpdate(j); !got.IsZero() {
		t.Errorf("a job that nobody has seen: %v", got)
	}
	for i, change := range []func(at metav1.Time){
		func(at metav1.Time) { j.Status.StartTime = &at },
		func(at metav1.Time) { j.Status.Conditions = []training.JobCondition{{LastTransitionTime: at}, {}} },
		func(at metav1.Time) { j.Status.Conditions[1].LastUpdateTime = at },
		func(at metav1.Time) { j.Status.LastReconcileTime = &at },
		func(at metav1.Time) { j.Status.CompletionTime = &at },
	} {
		change(later(i))
		if got := kind.LastControllerUpdate(j); !got.Equal(later(i).Time) {
			t.Errorf("change %d was at %v, not at %v", i, later(i), got)
		}
	}
}
