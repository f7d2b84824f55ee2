package pods

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config/samples"
	"switchyard.dev/e2e/clusters"
)

// Tekton itself makes the pods of runs, and gives them the labels of the run: each pod queues, and the run goes on when it has ended.
func TestPipelineRunsHaveTheirPodsQueue(t *testing.T) {
	s := start(t, clusters.Options{
		Name: "tekton", Nodes: []clusters.NodePool{{Name: "cpu", Count: 1}}, Operators: []clusters.Operator{clusters.Tekton},
	}, "batch/job", "pod")
	tm := s.newTeam(t, "tekton", 1)
	tm.create(&kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: tm.name, Name: "train"}, Spec: kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(tm.name)},
	})
	objects, err := samples.Objects("pods/pipelinerun.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, second := objects[0], objects[0].DeepCopy()
	second.SetName("second")
	for _, run := range []*unstructured.Unstructured{first, second} {
		run.SetNamespace(tm.name)
		tm.create(run)
		tm.expectStates("1 Running", first.GetName())
	}
	tm.expectStates("1 waits", second.GetName())
	tm.expectUsage("1 wait, 1 run, 1 CPUs")

	for _, run := range []*unstructured.Unstructured{first, second} {
		tm.expectStates("1 Running", run.GetName())
		tm.end(run.GetName()+"-compile-pod", "0")
		tm.expectStates("1 Succeeded", run.GetName())
		tm.expectSucceeded(run)
	}
	tm.expectUsage("0 wait, 0 run, 0 CPUs")
}

// expectSucceeded waits until Tekton says that a run has ended well.
func (t team) expectSucceeded(run *unstructured.Unstructured) {
	t.Helper()
	t.eventually("the end of "+run.GetName(), func() error {
		if err := t.Get(t.T.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(run.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Succeeded" && c["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v: %w", conditions, err)
	})
}
