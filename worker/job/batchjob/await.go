package batchjob

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// controllerObserved goes by what the Job controller writes at its first look, whether or not it can make pods: the condition Suspended of a
// suspended Job, the start time of any other.
func controllerObserved(j *batchv1.Job) bool {
	known := false
	for _, c := range j.Status.Conditions {
		known = known || c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	}
	if ptr.Deref(j.Spec.Suspend, false) {
		return known
	}
	return !known && j.Status.StartTime != nil
}

// lastControllerUpdate is the latest time in the status: the job controller has looked at the job then, or later.
func lastControllerUpdate(j *batchv1.Job) time.Time {
	latest := laterTime(laterTime(time.Time{}, j.Status.StartTime), j.Status.CompletionTime)
	for i := range j.Status.Conditions {
		latest = laterTime(latest, &j.Status.Conditions[i].LastTransitionTime)
	}
	return latest
}

func laterTime(than time.Time, at *metav1.Time) time.Time {
	if at != nil && at.After(than) {
		return at.Time
	}
	return than
}
