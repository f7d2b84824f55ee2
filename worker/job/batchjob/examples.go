package batchjob

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Examples returns a Job and what the Job controller makes of its status.
func Examples() job.Examples[*batchv1.Job] {
	return job.Examples[*batchv1.Job]{Job: sample, Started: started, Suspending: suspending, Succeeded: succeeded, Failed: failed}
}

// noon is when everything happens.
func noon() *metav1.Time {
	return ptr.To(metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)))
}

// sample is a Job of three pods at a time as the API server stores it.
func sample() *batchv1.Job {
	identity := map[string]string{
		batchv1.ControllerUidLabel: "u-1", batchv1.JobNameLabel: "train", "controller-uid": "u-1", "job-name": "train",
	}
	labels := map[string]string{"app": "train"}
	for key, value := range identity {
		labels[key] = value
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "train", Namespace: "team", UID: "u-1", ResourceVersion: "5", Generation: 2,
			Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{"note": "mine"},
		},
		Spec: batchv1.JobSpec{
			Suspend: ptr.To(true), Parallelism: ptr.To[int32](3), Completions: ptr.To[int32](5),
			TTLSecondsAfterFinished: ptr.To[int32](0),
			Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "u-1"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"scrape": "yes"}},
				Spec: corev1.PodSpec{
					Containers:   []corev1.Container{{Name: "main", Image: "train:1"}},
					NodeSelector: map[string]string{"arch": "arm64"},
					Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
}

func started(j *batchv1.Job) {
	j.Status.StartTime = noon()
	j.Status.Active, j.Status.Ready = 3, ptr.To[int32](3)
	j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuspended, corev1.ConditionFalse)}
}

func condition(t batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
	return batchv1.JobCondition{Type: t, Status: status, LastTransitionTime: *noon(), Message: "because " + string(t)}
}

func suspending(j *batchv1.Job) {
	j.Status.Active, j.Status.Ready = 0, ptr.To[int32](0)
	j.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuspended, corev1.ConditionTrue)}
}

func succeeded(j *batchv1.Job) {
	j.Status.Active, j.Status.Ready, j.Status.Succeeded, j.Status.CompletionTime = 0, ptr.To[int32](0), 5, noon()
	j.Status.Conditions = []batchv1.JobCondition{
		condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue), condition(batchv1.JobComplete, corev1.ConditionTrue),
	}
}

func failed(j *batchv1.Job) {
	j.Status.Active, j.Status.Ready, j.Status.Failed = 0, ptr.To[int32](0), 1
	j.Status.Conditions = []batchv1.JobCondition{
		condition(batchv1.JobFailureTarget, corev1.ConditionTrue), condition(batchv1.JobFailed, corev1.ConditionTrue),
	}
}
