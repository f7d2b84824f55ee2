package pods

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
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

// The groups of a set run on one worker, though the other has room too.
func TestLeaderWorkerSetsOfAHubRunOnAWorker(t *testing.T) {
	f := raiseWith(t, []clusters.Operator{clusters.LeaderWorkerSet}, "pod", "leaderworkerset.x-k8s.io/leaderworkerset")
	hub, workers := f.newTeam(t, "lws", 12, 12)
	set := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(leaderWorkerSet), &set.Object); err != nil {
		t.Fatal(err)
	}
	set.SetNamespace(hub.name)
	hub.create(set.DeepCopy())
	if hub.firstCluster() == workers[1].Cluster.Name {
		slices.Reverse(workers)
	}
	expectGroupsAway(t, 2, hub, workers)
	hub.expectCondition("leaderworkerset-serve", kueue.WorkloadPodsReady, "True Started")

	hub.scale(set, 3)
	expectGroupsAway(t, 3, hub, workers)
	hub.scale(set, 2)
	expectGroupsAway(t, 2, hub, workers)

	// One group stops and comes back, while the other runs on.
	stopped := hub.groupWorkload(t, "1")
	before := workers[0].uids("serve-0")
	hub.patch(stopped, func() { stopped.Spec.Active = ptr.To(false) })
	workers[0].expectStates("3 Running", "serve-0")
	workers[0].expectStates("3 waits", "serve-1")
	workers[0].expectUsage("0 wait, 1 run, 4 CPUs")
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(stopped), stopped); err != nil {
		t.Fatal(err)
	}
	hub.patch(stopped, func() { stopped.Spec.Active = ptr.To(true) })
	expectGroupsAway(t, 2, hub, workers)
	if diff := cmp.Diff(before, workers[0].uids("serve-0")); diff != "" {
		t.Errorf("the other group was made anew (-want +got):\n%s", diff)
	}

	if err := hub.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for _, tm := range append(workers, hub) {
		tm.eventually("pods to go", func() error {
			if got := tm.states(); got != "" {
				return fmt.Errorf("on %s there are %q\nhub: %s", tm.Cluster.Name, got, hub.held())
			}
			return nil
		})
		tm.expectUsage("0 wait, 0 run, 0 CPUs")
	}
	workers[0].eventually("the set to go", func() error {
		err := workers[0].Get(t.Context(), client.ObjectKeyFromObject(set), set.DeepCopy())
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// firstCluster waits until a Workload has a cluster, and names it.
func (t team) firstCluster() (name string) {
	t.Helper()
	t.eventually("a cluster", func() error {
		for _, wl := range t.workloads() {
			if wl.Status.ClusterName != nil {
				name = *wl.Status.ClusterName
				return nil
			}
		}
		return errors.New("none has been chosen")
	})
	return name
}

// expectGroupsAway waits until so many groups run on the first worker, and nothing runs on the hub nor on the second worker.
func expectGroupsAway(t *testing.T, groups int, hub team, workers []team) {
	t.Helper()
	workers[0].eventually("pods", func() error {
		if got, want := workers[0].states(), fmt.Sprintf("%d Running", 3*groups); got != want {
			return fmt.Errorf("there are %q, want %q\nhub: %s", got, want, hub.held())
		}
		return nil
	})
	workers[0].expectUsage(fmt.Sprintf("0 wait, %d run, %d CPUs", groups, 4*groups))
	workers[1].expectStates("")
	if states := hub.states(); strings.Contains(states, "Running") {
		t.Errorf("on the hub there are %s", states)
	}
	for _, wl := range hub.workloads() {
		if wl.Status.ClusterName != nil && *wl.Status.ClusterName != workers[0].Cluster.Name {
			t.Errorf("workload %s is on %s", wl.Name, *wl.Status.ClusterName)
		}
	}
}

// groupWorkload is the Workload of one group.
func (t team) groupWorkload(tb testing.TB, index string) *kueue.Workload {
	tb.Helper()
	for _, wl := range t.workloads() {
		if wl.Annotations[kueue.ComponentWorkloadIndexAnnotation] == index {
			return &wl
		}
	}
	tb.Fatalf("no workload of group %s", index)
	return nil
}

// uids are those of the pods whose names begin so.
func (t team) uids(prefix string) map[string]types.UID {
	t.Helper()
	list := map[string]types.UID{}
	for _, pod := range t.pods() {
		if strings.HasPrefix(pod.Name, prefix) {
			list[pod.Name] = pod.UID
		}
	}
	return list
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
