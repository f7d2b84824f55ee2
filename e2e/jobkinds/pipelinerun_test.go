package jobkinds

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// pipelineRun compiles, then tests, and reports in any case.
const pipelineRun = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: main}
  annotations: {queue.example.com/cpu: "4"}
spec:
  taskRunTemplate:
    podTemplate:
      nodeSelector: {pool: batch}
      tolerations: [{key: pool, operator: Exists}]
  pipelineSpec:
    tasks:
    - name: compile
      taskSpec: {steps: [{name: main, image: "build:1", command: [build]}]}
    - name: test
      runAfter: [compile]
      taskSpec: {steps: [{name: main, image: "build:1", command: [test]}]}
    finally:
    - name: report
      taskSpec: {steps: [{name: main, image: "build:1", command: [report]}]}
`

// Tekton itself makes the pods of the runs, on both clusters. The sample declares them, and Tekton's own rules say what may be changed.
func TestPipelineRunsAreQueuedWhole(t *testing.T) {
	f := raiseTekton(t)

	t.Log("one that does not fit waits until another has ended, whose pods run where it says")
	f.create(f.w1, newRun(t, "first", ""))
	f.expectRunPods(f.w1, "first", "compile Running")
	f.create(f.w1, newRun(t, "second", ""))
	f.expectRunWorkload(f.w1, "second", "waits")
	f.endRunPods(f.w1, "first")
	f.expectRunPods(f.w1, "first", "compile Succeeded, test Running")
	f.endRunPods(f.w1, "first")
	f.expectRunPods(f.w1, "first", "compile Succeeded, report Running, test Succeeded")
	f.expectRun(f.w1, "second", "PipelineRunPending", "Unknown PipelineRunPending")
	f.expectRunPods(f.w1, "second", "")
	f.endRunPods(f.w1, "first")
	f.expectRun(f.w1, "first", "", "True Succeeded")
	f.expectRunWorkload(f.w1, "first", "Finished Succeeded")
	f.expectRunPods(f.w1, "second", "compile Running")
	f.expectOneWorkloadForEachRun(f.w1, 2)

	t.Log("one that is preempted lets its task end, reports and ends; its quota is another's then")
	f.create(f.w1, newRun(t, "urgent", "urgent"))
	f.expectRun(f.w1, "second", "StoppedRunFinally", "Unknown Running")
	f.expectRunWorkload(f.w1, "urgent", "waits")
	f.endRunPods(f.w1, "second")
	f.expectRunPods(f.w1, "second", "compile Succeeded, report Running")
	f.expectRunWorkload(f.w1, "urgent", "waits")
	f.endRunPods(f.w1, "second")
	f.expectRun(f.w1, "second", "StoppedRunFinally", "False Cancelled")
	f.expectRunWorkload(f.w1, "second", "Finished Failed")
	f.expectRunPods(f.w1, "urgent", "compile Running")

	t.Log("one that its user cancels ends at once")
	f.patch(f.w1, newRun(t, "urgent", ""), `{"spec":{"status":"Cancelled"}}`)
	f.expectRun(f.w1, "urgent", "Cancelled", "False Cancelled")
	f.expectRunWorkload(f.w1, "urgent", "Finished Failed")

	t.Log("one of the hub runs on the worker, and the hub's Tekton leaves it alone")
	f.create(f.hub, newRun(t, "remote", ""))
	f.expectRunPods(f.w1, "remote", "compile Running")
	f.expectRun(f.hub, "remote", "", "Unknown Running")
	for _, pods := range []string{"compile Running", "compile Succeeded, test Running", "compile Succeeded, report Running, test Succeeded"} {
		f.expectRunPods(f.w1, "remote", pods)
		f.endRunPods(f.w1, "remote")
	}
	f.expectRun(f.hub, "remote", "", "True Succeeded")
	f.expectRunWorkload(f.hub, "remote", "Finished Succeeded")
	f.expectNoRun(f.w1, "remote")
	f.expectRunPods(f.hub, "remote", "")

	t.Log("one of the hub that is stopped")
	f.create(f.hub, newRun(t, "stopped", ""))
	f.expectRunPods(f.w1, "stopped", "compile Running")
	f.expectRun(f.hub, "stopped", "", "Unknown Running")
	f.setActive("stopped", false)
	f.expectRun(f.w1, "stopped", "StoppedRunFinally", "Unknown Running")
	f.endRunPods(f.w1, "stopped")
	f.expectRunPods(f.w1, "stopped", "compile Succeeded, report Running")
	f.endRunPods(f.w1, "stopped")
	f.expectRunWorkload(f.hub, "stopped", "Finished Failed")
	f.expectRun(f.hub, "stopped", "StoppedRunFinally", "False Cancelled")
	f.expectNoRun(f.w1, "stopped")
}

// raiseTekton starts a hub and a worker with Tekton on both, and quota for one run at a time.
func raiseTekton(t *testing.T) *fleet {
	t.Helper()
	taint := []corev1.Taint{{Key: "pool", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	nodes := []clusters.NodePool{{Name: "cpu", Count: 1}, {Name: "batch", Count: 1, Labels: map[string]string{"pool": "batch"}, Taints: taint}}
	tekton := []clusters.Operator{clusters.Tekton}
	// Tekton gives the pods of a run its labels: they would queue by themselves, if it were not known who pays for TaskRuns.
	integrations := map[string]any{"frameworks": []any{"batch/job", "pod"}, "externalFrameworks": []any{"TaskRun.v1.tekton.dev"}}
	f := raise(t, integrations, clusters.Options{Name: "hub", Nodes: nodes, Operators: tekton}, clusters.Options{Name: "w1", Nodes: nodes, Operators: tekton})
	flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Spec: kueue.ResourceFlavorSpec{NodeLabels: nodes[1].Labels, NodeTaints: taint}}
	quota := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("64Gi")}
	f.makeQueue(f.hub, flavor, quota, "workers")
	f.makeQueue(f.w1, flavor, quota)
	f.letHub(f.w1)
	declared := &switchyard.JobKind{}
	readSample(t, "pipelinerun.yaml", declared)
	for _, at := range []*installation.Site{f.hub, f.w1} {
		f.create(at, declared.DeepCopy(), &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000})
		f.expectServingOf(at, declared, "True Started")
	}
	f.expectConnection(f.w1, "True Connected; kinds that the hub may not see there, until its account is granted get, list, watch, create and delete: Pod.v1.")
	return f
}

// newRun is a PipelineRun with a name, and the priority of a class if that is not empty.
func newRun(tb testing.TB, name, class string) *unstructured.Unstructured {
	tb.Helper()
	run := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(pipelineRun), &run.Object); err != nil {
		tb.Fatal(err)
	}
	run.SetName(name)
	if class != "" {
		run.SetLabels(map[string]string{kueue.QueueNameLabel: "main", kueue.PriorityClassLabel: class})
	}
	return run
}

// runPods are the pods of a run, by the task that they do.
func (f *fleet) runPods(ctx context.Context, at *installation.Site, run string) (map[string]*corev1.Pod, error) {
	list := &corev1.PodList{}
	err := at.List(ctx, list, client.InNamespace("default"), client.MatchingLabels{"tekton.dev/pipelineRun": run})
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Labels["tekton.dev/pipelineTask"]] = &list.Items[i]
	}
	return pods, err
}

// expectRunPods waits until the pods of a run are so.
func (f *fleet) expectRunPods(at *installation.Site, run, want string) {
	f.t.Helper()
	f.eventually("pods of "+run+" at "+at.Name, func(ctx context.Context) error {
		pods, err := f.runPods(ctx, at, run)
		if err != nil {
			return err
		}
		var are []string
		for task, pod := range pods {
			are = append(are, task+" "+string(pod.Status.Phase))
			if !strings.HasPrefix(pod.Spec.NodeName, "batch-") {
				return fmt.Errorf("pod %s is on node %q", pod.Name, pod.Spec.NodeName)
			}
		}
		slices.Sort(are)
		if got := strings.Join(are, ", "); got != want {
			return fmt.Errorf("they are %q, want %q; %s", got, want, f.held(ctx, at, run))
		}
		return nil
	})
}

// endRunPods lets the pods of a run that exist now end with success.
func (f *fleet) endRunPods(at *installation.Site, run string) {
	f.t.Helper()
	pods, err := f.runPods(f.t.Context(), at, run)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, pod := range pods {
		f.patch(at, pod, `{"metadata":{"annotations":{"`+clusters.RunForAnnotation+`":"100ms"}}}`)
	}
}

// expectRun waits until a run's spec.status is one, and its condition Succeeded the other.
func (f *fleet) expectRun(at *installation.Site, name, status, succeeded string) {
	f.t.Helper()
	f.eventually(name+" at "+at.Name, func(ctx context.Context) error {
		run := newRun(f.t, name, "")
		if err := at.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
			return err
		}
		is, _, err := unstructured.NestedString(run.Object, "spec", "status")
		if got := conditionOf(run); err != nil || is != status || got != succeeded {
			return fmt.Errorf("it is %q, %q; want %q, %q; %s", is, got, status, succeeded, f.held(ctx, at, name))
		}
		return nil
	})
}

// conditionOf is a run's condition Succeeded, with its reason; empty without one.
func conditionOf(run *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(run.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Succeeded" {
			return fmt.Sprintf("%v %v", c["status"], c["reason"])
		}
	}
	return ""
}

// expectRunWorkload waits until what its Workload says of quota, or of its end, is so.
func (f *fleet) expectRunWorkload(at *installation.Site, run, want string) {
	f.t.Helper()
	f.eventually("the Workload of "+run+" at "+at.Name, func(ctx context.Context) error {
		wl, err := workloadAt(ctx, at, run)
		if err != nil {
			return err
		}
		got := "waits"
		if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c != nil {
			got = "Finished " + c.Reason
		} else if hasReserved(wl) {
			got = "runs"
		}
		if got != want {
			return fmt.Errorf("it is %q, want %q; %s", got, want, f.held(ctx, at, run))
		}
		return nil
	})
}

// held tells what there is of a run.
func (f *fleet) held(ctx context.Context, at *installation.Site, name string) string {
	run := newRun(f.t, name, "")
	err := at.Get(ctx, client.ObjectKeyFromObject(run), run)
	wl, err2 := workloadAt(ctx, at, name)
	return fmt.Sprintf("run %v, spec %v, status %v, Workload %v %s, errors %v %v", run.GetAnnotations(), run.Object["spec"], run.Object["status"], wl != nil, explain(wl), err, err2)
}

// expectOneWorkloadForEachRun checks that the runs have a Workload each, and their pods none.
func (f *fleet) expectOneWorkloadForEachRun(at *installation.Site, runs int) {
	f.t.Helper()
	var list kueue.WorkloadList
	if err := at.List(f.t.Context(), &list); err != nil {
		f.t.Fatal(err)
	}
	if len(list.Items) != runs {
		f.t.Errorf("%d Workloads at %s, want %d", len(list.Items), at.Name, runs)
	}
	for i := range list.Items {
		if owner := metav1.GetControllerOfNoCopy(&list.Items[i]); owner == nil || owner.Kind != "PipelineRun" {
			f.t.Errorf("Workload %s of %v, want a PipelineRun", list.Items[i].Name, owner)
		}
	}
}

// expectNoRun waits until there is neither a run nor any of its pods.
func (f *fleet) expectNoRun(at *installation.Site, name string) {
	f.t.Helper()
	f.eventually(name+" is gone from "+at.Name, func(ctx context.Context) error {
		run := newRun(f.t, name, "")
		if err := at.Get(ctx, client.ObjectKeyFromObject(run), run); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s; at the hub %s; error %w", f.held(ctx, at, name), f.held(ctx, f.hub, name), err)
		}
		return nil
	})
	f.expectRunPods(at, name, "")
}
