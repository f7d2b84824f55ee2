package raycluster

import (
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/worker/job"
)

// progress returns how far the RayCluster is. It has no end of its own.
func progress(rc *rayv1.RayCluster) job.Progress {
	p := podsOf(&rc.Status)
	p.Ready = rc.Status.State == rayv1.Ready && !ptr.Deref(rc.Spec.Suspend, false)
	return p
}

// podsOf tells whether a RayCluster of the status may have pods. KubeRay says that it is suspended when it sees no pod any more, and takes
// that back before it makes one. What it says of the state lags behind: a cluster is ready until its last pod is gone, and suspended until
// its last pod is ready.
func podsOf(s *rayv1.RayClusterStatus) job.Progress {
	suspended := meta.FindStatusCondition(s.Conditions, string(rayv1.RayClusterSuspended))
	switch {
	case suspended == nil: // an operator whose conditions are switched off, or none at all
		return job.Progress{Active: s.State == rayv1.Ready || s.Head.PodName != "" || s.AvailableWorkerReplicas > 0}
	case suspended.Status == metav1.ConditionTrue:
		return job.Progress{}
	case meta.IsStatusConditionTrue(s.Conditions, string(rayv1.RayClusterSuspending)):
		return job.Progress{Terminating: true}
	}
	return job.Progress{Active: true}
}

// HoldsPods tells whether a RayCluster may have pods. It believes no status of one that may run: that may be older than its pods.
func HoldsPods(rc *rayv1.RayCluster) bool {
	return !ptr.Deref(rc.Spec.Suspend, false) || podsOf(&rc.Status).HoldsPods()
}

// controllerObserved is false for a resumed RayCluster whose status still has it suspended.
func controllerObserved(rc *rayv1.RayCluster) bool {
	return ptr.Deref(rc.Spec.Suspend, false) || !meta.IsStatusConditionTrue(rc.Status.Conditions, string(rayv1.RayClusterSuspended))
}

// LastUpdate is when KubeRay has last written the status of a RayCluster.
func LastUpdate(s *rayv1.RayClusterStatus) time.Time {
	latest := LastTransition(s.Conditions)
	if at := s.LastUpdateTime; at != nil && at.After(latest) {
		return at.Time
	}
	return latest
}

// LastTransition is the latest time in conditions; zero if there are none.
func LastTransition(conditions []metav1.Condition) time.Time {
	var latest time.Time
	for _, c := range conditions {
		if c.LastTransitionTime.After(latest) {
			latest = c.LastTransitionTime.Time
		}
	}
	return latest
}
