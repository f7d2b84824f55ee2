package raycluster_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

func TestARayClusterOnAnotherClusterTakesTheSizeOfItsWorkload(t *testing.T) {
	group := func(rc *rayv1.RayCluster, i int) *rayv1.WorkerGroupSpec { return &rc.Spec.WorkerGroupSpecs[i] }
	for _, c := range []struct {
		name string
		// local changes the hub's RayCluster, whose Workload has the pods in front of what the groups become.
		local        func(*rayv1.RayCluster)
		small, hosts int32
		want         []string
	}{
		{"nothing has changed", func(*rayv1.RayCluster) {}, 3, 8, nil},
		{"a group shrinks", func(rc *rayv1.RayCluster) { group(rc, 0).Replicas = ptr.To[int32](1) }, 1, 8, []string{"1x1", "2x4"}},
		{"both grow", func(rc *rayv1.RayCluster) {
			group(rc, 0).Replicas, group(rc, 1).Replicas = ptr.To[int32](5), ptr.To[int32](3)
		}, 5, 12, []string{"5x1", "3x4"}},
		{"the hosts change", func(rc *rayv1.RayCluster) { group(rc, 1).NumOfHosts = 8 }, 3, 16, []string{"3x1", "2x8"}},
		{"the hub's runs ahead of its quota", func(rc *rayv1.RayCluster) { group(rc, 1).Replicas = ptr.To[int32](9) }, 3, 12, []string{"3x1", "3x4"}},
		{"pods that no replicas make up", func(*rayv1.RayCluster) {}, 3, 7, nil},
		{"a group that the hub's does not have", func(rc *rayv1.RayCluster) { group(rc, 0).GroupName = "other" }, 1, 8, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			local, remote := sample(), sample()
			sets := podSets(t, remote)
			sets[1].Count, sets[2].Count = c.small, c.hosts
			c.local(local)
			kind := job.NewIntegration(raycluster.Kind())
			want := c.want
			if want == nil {
				want = []string{"3x1", "2x4"}
			}
			if got := kind.Resize(local, remote, sets); got != (c.want != nil) {
				t.Errorf("changed %t", got)
			}
			var got []string
			for _, g := range remote.Spec.WorkerGroupSpecs {
				got = append(got, strconv.Itoa(int(*g.Replicas))+"x"+strconv.Itoa(int(g.NumOfHosts)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("groups differ (-want +got):\n%s", diff)
			}
			if kind.Resize(local, remote, sets) {
				t.Error("it does not come to rest")
			}
		})
	}
}
