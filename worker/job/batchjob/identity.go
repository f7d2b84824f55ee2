package batchjob

import (
	batchv1 "k8s.io/api/batch/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// identityLabels returns the keys that the API server puts into a Job's pod template to tell its pods from all others.
// They and the selector belong to one object in one cluster.
func identityLabels() []string {
	return []string{
		batchv1.ControllerUidLabel, batchv1.JobNameLabel,
		"controller-uid", "job-name", // the same without prefix, from before Kubernetes 1.27
	}
}

// readIdentity returns the identity labels among the given ones.
func readIdentity(labels map[string]string) map[string]string {
	own := map[string]string{}
	for _, key := range identityLabels() {
		if value, ok := labels[key]; ok {
			own[key] = value
		}
	}
	return own
}

func dropIdentity(labels map[string]string) {
	for _, key := range identityLabels() {
		delete(labels, key)
	}
}

// detach leaves what the user wrote: the API server of another cluster generates selector and identity anew. A finished copy
// must not vanish before its result is known; its maker deletes it.
func detach(j *batchv1.Job) {
	dropIdentity(j.Spec.Template.Labels)
	if len(j.Spec.Template.Labels) == 0 {
		j.Spec.Template.Labels = nil
	}
	j.Spec.Selector = nil
	j.Spec.TTLSecondsAfterFinished = nil
	delete(j.Annotations, kueue.StoppingAnnotation)
	j.Status = batchv1.JobStatus{}
}
