package jobset

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Examples returns a JobSet and what the JobSet controller makes of its status.
func Examples() job.Examples[*jobsetv1.JobSet] {
	return job.Examples[*jobsetv1.JobSet]{
		Job: sample, Started: started, Suspending: suspending,
		Succeeded: ended(jobsetv1.JobSetCompleted), Failed: ended(jobsetv1.JobSetFailed),
	}
}

// sample is a JobSet of one driver and two workers of three pods each.
func sample() *jobsetv1.JobSet {
	return &jobsetv1.JobSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "train", Namespace: "team", UID: "u-1", ResourceVersion: "5", Generation: 2,
			Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{"note": "mine"},
		},
		Spec: jobsetv1.JobSetSpec{
			Suspend:        ptr.To(true),
			ReplicatedJobs: []jobsetv1.ReplicatedJob{replicated("driver", 1, 1), replicated("Workers", 2, 3)},
		},
	}
}

func replicated(name string, replicas, parallelism int32) jobsetv1.ReplicatedJob {
	return jobsetv1.ReplicatedJob{Name: name, Replicas: replicas, Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
		Parallelism: &parallelism, Completions: ptr.To(parallelism + 1),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: map[string]string{"scrape": "yes"}},
			Spec: corev1.PodSpec{
				Containers:   []corev1.Container{{Name: "main", Image: name + ":1"}},
				NodeSelector: map[string]string{"arch": "arm64"},
				Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
			},
		},
	}}}
}

func started(js *jobsetv1.JobSet) {
	js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{
		{Name: "driver", Ready: 1, Active: 1}, {Name: "Workers", Ready: 2, Active: 2},
	}
}

func suspending(js *jobsetv1.JobSet) {
	js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{{Name: "driver", Suspended: 1}, {Name: "Workers", Suspended: 2}}
}

func ended(condition jobsetv1.JobSetConditionType) func(*jobsetv1.JobSet) {
	return func(js *jobsetv1.JobSet) {
		js.Status.ReplicatedJobsStatus = []jobsetv1.ReplicatedJobStatus{{Name: "driver", Succeeded: 1}, {Name: "Workers", Succeeded: 2}}
		js.Status.Conditions = []metav1.Condition{{
			Type: string(condition), Status: metav1.ConditionTrue, Reason: string(condition), Message: "it is over", LastTransitionTime: metav1.Unix(1, 0),
		}}
	}
}
