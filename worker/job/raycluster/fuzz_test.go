package raycluster_test

import (
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"

	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/raycluster"
)

// FuzzRayCluster looks for a RayCluster that the declaration does not survive, as a job and as the child of one.
func FuzzRayCluster(f *testing.F) {
	jobtest.Fuzz(f, raycluster.Kind(), func(seed int64) {
		rc, j := &rayv1.RayCluster{}, &batchv1.Job{}
		jobtest.Random(seed, rc)
		jobtest.Random(seed, j)
		sets, _ := raycluster.Kind().PodSets(rc)
		raycluster.AsksAtMost(rc, sets)
		raycluster.HoldsPods(rc)
		raycluster.Kind().Children.Covers(rc, j)
		raycluster.IsJobOfOne(j, &rc.Spec.HeadGroupSpec.Template.Spec)
	})
}
