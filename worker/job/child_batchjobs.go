package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What kinds need to know of batch Jobs that their controllers make.

// BatchJobPods is how many pods a Job of the spec runs at a time.
func BatchJobPods(spec *batchv1.JobSpec) int32 {
	parallelism := ptr.Deref(spec.Parallelism, 1)
	return max(min(parallelism, ptr.Deref(spec.Completions, parallelism)), 0)
}

// BatchJobHoldsPods tells whether a Job may have pods, for [Children.HoldsPods]. It believes no status of a Job that may run: it may
// be older than the Job's pods.
func BatchJobHoldsPods(child client.Object) bool {
	j, ok := child.(*batchv1.Job)
	if !ok {
		return false
	}
	if j.Status.Active > 0 || ptr.Deref(j.Status.Terminating, 0) > 0 {
		return true
	}
	return !ptr.Deref(j.Spec.Suspend, false) && !hasBatchJobEnded(j)
}

func hasBatchJobEnded(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return true
		}
	}
	return false
}
