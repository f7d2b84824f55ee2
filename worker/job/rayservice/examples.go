package rayservice

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

// Examples returns a RayService and what KubeRay makes of its status.
func Examples() job.Examples[*rayv1.RayService] {
	return job.Examples[*rayv1.RayService]{
		Job:        sample,
		Started:    func(rs *rayv1.RayService) { rs.Status = status(rs, metav1.ConditionTrue) },
		Suspending: func(rs *rayv1.RayService) { rs.Status = status(rs, metav1.ConditionFalse) },
	}
}

// sample is a suspended RayService.
func sample() *rayv1.RayService {
	return &rayv1.RayService{
		ObjectMeta: raycluster.SampleMeta("serve"),
		Spec:       rayv1.RayServiceSpec{ServeConfigV2: "applications: []", RayClusterSpec: raycluster.SampleSpec()},
	}
}

func status(rs *rayv1.RayService, ready metav1.ConditionStatus) rayv1.RayServiceStatuses {
	return rayv1.RayServiceStatuses{
		ActiveServiceStatus: rayv1.RayServiceStatus{RayClusterName: rs.Name + "-abcde"},
		Conditions:          []metav1.Condition{{Type: string(rayv1.RayServiceReady), Status: ready, Reason: "Serving", LastTransitionTime: metav1.Unix(1, 0)}},
	}
}
