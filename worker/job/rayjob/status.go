package rayjob

import (
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/raycluster"
)

// progress returns how far the RayJob is, by the status of its deployment: until that is Suspended it may have pods.
func progress(j *rayv1.RayJob) job.Progress {
	p := job.Progress{
		Ready:    !j.Spec.Suspend && j.Status.RayClusterStatus.State == rayv1.Ready,
		Finished: outcome(j),
	}
	switch j.Status.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusNew, rayv1.JobDeploymentStatusSuspended, rayv1.JobDeploymentStatusComplete, rayv1.JobDeploymentStatusFailed:
	case rayv1.JobDeploymentStatusValidationFailed:
		p.OnHold = job.OnHoldMessage
	case rayv1.JobDeploymentStatusSuspending:
		p.Terminating = true
	case rayv1.JobDeploymentStatusWaiting:
		p.Active = !j.Spec.Suspend // KubeRay does not suspend it: what it has made is asked
	default:
		p.Active = true
	}
	return p
}

// outcome returns how the RayJob ended; nil while it has not.
func outcome(j *rayv1.RayJob) *job.Outcome {
	if !rayv1.IsJobDeploymentTerminal(j.Status.JobDeploymentStatus) {
		return nil
	}
	return &job.Outcome{Success: j.Status.JobStatus == rayv1.JobStatusSucceeded, Message: j.Status.Message}
}

// controllerObserved is false for a resumed RayJob whose status still has it suspended.
func controllerObserved(j *rayv1.RayJob) bool {
	return j.Spec.Suspend || j.Status.JobDeploymentStatus != rayv1.JobDeploymentStatusSuspended
}

// lastControllerUpdate is the latest time in the status; those of a run are gone when it is suspended.
func lastControllerUpdate(j *rayv1.RayJob) time.Time {
	latest := raycluster.LastUpdate(&j.Status.RayClusterStatus)
	if at := j.Status.StartTime; at != nil && at.After(latest) {
		latest = at.Time
	}
	if at := j.Status.EndTime; at != nil && at.After(latest) {
		latest = at.Time
	}
	return latest
}

// children are the RayCluster of the present try and the batch Job that submits the RayJob to it.
func children() *job.Children[*rayv1.RayJob] {
	return &job.Children[*rayv1.RayJob]{
		NewLists:  func() []client.ObjectList { return []client.ObjectList{&rayv1.RayClusterList{}, &batchv1.JobList{}} },
		Labels:    func(j *rayv1.RayJob) map[string]string { return raycluster.ChildLabels(kind, j) },
		Covers:    covers,
		HoldsPods: holdsPods,
		Watched:   func() []client.Object { return []client.Object{&rayv1.RayCluster{}} },
	}
}

// covers holds for the RayCluster whose name KubeRay has put into the status before it made it, and for the submitter, which has the
// RayJob's own name. So there are never two of either. Retries come one after the other.
func covers(j *rayv1.RayJob, child client.Object) bool {
	sets, err := podSets(j)
	if err != nil || usesExistingCluster(j) {
		return false
	}
	switch child := child.(type) {
	case *rayv1.RayCluster:
		return child.Name == j.Status.RayClusterName && raycluster.AsksAtMost(child, sets)
	case *batchv1.Job:
		return hasSubmitterPod(j) && child.Name == j.Name && raycluster.IsJobOfOne(child, &sets[len(sets)-1].Template.Spec)
	}
	return false
}

// holdsPods tells whether a child may have pods. It believes no status of one that may run.
func holdsPods(child client.Object) bool {
	switch child := child.(type) {
	case *rayv1.RayCluster:
		return raycluster.HoldsPods(child)
	case *batchv1.Job:
		k := batchjob.Kind()
		p := k.Progress(child)
		return p.HoldsPods() || p.Finished == nil && !k.Suspended(child)
	}
	return false
}
