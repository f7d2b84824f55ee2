package rayjob

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

// Examples returns a RayJob and what KubeRay makes of its status.
func Examples() job.Examples[*rayv1.RayJob] {
	return job.Examples[*rayv1.RayJob]{
		Job: sample,
		Started: func(j *rayv1.RayJob) {
			j.Status = rayv1.RayJobStatus{
				JobId: "job-1", RayClusterName: j.Name + "-abcde", JobStatus: rayv1.JobStatusRunning,
				JobDeploymentStatus: rayv1.JobDeploymentStatusRunning, RayClusterStatus: raycluster.ReadyStatus(),
			}
		},
		Suspending: func(j *rayv1.RayJob) {
			j.Status = rayv1.RayJobStatus{JobDeploymentStatus: rayv1.JobDeploymentStatusSuspended}
		},
		Succeeded: ended(rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded),
		Failed:    ended(rayv1.JobDeploymentStatusFailed, rayv1.JobStatusFailed),
	}
}

// sample is a suspended RayJob that a batch Job submits.
func sample() *rayv1.RayJob {
	cluster := raycluster.SampleSpec()
	cluster.Suspend = nil
	return &rayv1.RayJob{
		ObjectMeta: raycluster.SampleMeta("train"),
		Spec: rayv1.RayJobSpec{
			Suspend: true, Entrypoint: "python train.py", ShutdownAfterJobFinishes: true, SubmissionMode: rayv1.K8sJobMode, RayClusterSpec: &cluster,
		},
	}
}

func ended(deployment rayv1.JobDeploymentStatus, status rayv1.JobStatus) func(*rayv1.RayJob) {
	return func(j *rayv1.RayJob) {
		j.Status.JobDeploymentStatus, j.Status.JobStatus, j.Status.Message = deployment, status, "it is over"
	}
}
