package pods

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

const leaderWorkerSet = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    leaderTemplate: {spec: {containers: [{name: main, image: serve, resources: {requests: {cpu: 2}}}]}}
    workerTemplate: {spec: {containers: [{name: main, image: serve, resources: {requests: {cpu: 1}}}]}}
`

// The operator itself makes StatefulSets and pods of each group. A group is admitted whole, and for itself.
func TestLeaderWorkerSetsRunByQuota(t *testing.T) {
	s := start(t, clusters.Options{
		Name: "lws", Nodes: []clusters.NodePool{{Name: "cpu", Count: 2}}, Operators: []clusters.Operator{clusters.LeaderWorkerSet},
	}, "batch/job", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset")
	tm := s.newTeam(t, "lws", 8)
	set := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(leaderWorkerSet), &set.Object); err != nil {
		t.Fatal(err)
	}
	set.SetNamespace(tm.name)
	tm.create(set)
	tm.expectStates("6 Running")
	tm.expectUsage("0 wait, 2 run, 8 CPUs")
	tm.expectCondition("leaderworkerset-serve", kueue.WorkloadAdmitted, "True Admitted")
	tm.expectAvailable(set)
	for _, wl := range tm.workloads() {
		if len(wl.Spec.PodSets) != 2 || !strings.HasPrefix(wl.Name, "leaderworkerset-serve-") {
			t.Errorf("workload %s has pod sets %v", wl.Name, wl.Spec.PodSets)
		}
	}

	// The third group finds no quota, and gets that of the first when the set is made smaller and larger again.
	tm.scale(set, 3)
	tm.eventually("the third group", func() error {
		if got := len(tm.workloads()); got != 3 {
			return fmt.Errorf("there are %d workloads", got)
		}
		return nil
	})
	tm.expectUsage("1 wait, 2 run, 8 CPUs")
	tm.expectStates("3 waits, 6 Running")
	tm.scale(set, 1)
	tm.expectStates("3 Running")
	tm.expectUsage("0 wait, 1 run, 4 CPUs")

	if err := tm.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	tm.expectStates("")
	tm.expectUsage("0 wait, 0 run, 0 CPUs")
}

func (t team) scale(set *unstructured.Unstructured, replicas int) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	if err := t.Patch(t.T.Context(), set, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// expectAvailable waits until the operator says that all groups serve.
func (t team) expectAvailable(set *unstructured.Unstructured) {
	t.Helper()
	t.eventually("available", func() error {
		if err := t.Get(t.T.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		ready, _, err := unstructured.NestedInt64(set.Object, "status", "readyReplicas")
		if err == nil && ready != 2 {
			err = fmt.Errorf("%d groups are ready", ready)
		}
		return err
	})
}
