package configured_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
)

const pipelineRun = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: build
  namespace: team
  uid: u-1
  labels: {kueue.x-k8s.io/queue-name: main}
  annotations: {queue.example.com/cpu: "4", queue.example.com/memory: 8Gi}
spec:
  pipelineRef: {name: build}
  status: PipelineRunPending
  taskRunTemplate: {serviceAccountName: builder}
`

const workflow = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: etl
  namespace: team
  uid: u-1
  annotations: {queue.example.com/memory: 2Gi}
spec:
  suspend: true
  entrypoint: main
  parallelism: 8
  podPriorityClassName: batch
  podMetadata: {labels: {app: etl}, annotations: {scrape: "yes"}}
  nodeSelector: {arch: arm64}
  tolerations: [{key: spot, operator: Exists}]
  templates: [{name: main, container: {image: "etl:1"}}]
`

const trainingRun = `
apiVersion: ml.example.com/v1
kind: TrainingRun
metadata:
  name: llm
  namespace: team
  uid: u-1
  labels: {kueue.x-k8s.io/queue-name: main}
  annotations: {note: mine}
spec:
  suspend: true
  coordinator:
    metadata: {labels: {app: coordinator}}
    spec:
      containers: [{name: main, image: "llm:1", resources: {requests: {cpu: "1"}}}]
      nodeSelector: {arch: arm64}
      tolerations: [{key: spot, operator: Exists}]
  workers:
    replicas: 3
    template:
      metadata: {labels: {app: worker}, annotations: {scrape: "yes"}}
      spec:
        containers: [{name: main, image: "llm:1", resources: {requests: {nvidia.com/gpu: "8"}}}]
        nodeSelector: {arch: arm64}
        tolerations: [{key: spot, operator: Exists}]
`

// status gives a job another status.
func status(tb testing.TB, text string) func(*unstructured.Unstructured) {
	tb.Helper()
	return func(j *unstructured.Unstructured) {
		j.Object["status"] = read(tb, "{apiVersion: a/v1, kind: A, "+text+"}").Object["status"]
	}
}

func TestADeclaredTrainingRunIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, compileSample(t, "trainingrun.yaml").Kind(), job.Examples[*unstructured.Unstructured]{
		Job:        func() *unstructured.Unstructured { return read(t, trainingRun) },
		Started:    status(t, "status: {phase: Running, active: 4, ready: 4}"),
		Suspending: status(t, "status: {phase: Pending, active: 0, ready: 0}"),
		Succeeded:  status(t, "status: {phase: Succeeded, active: 0, succeeded: 4}"),
		Failed:     status(t, "status: {phase: Failed, message: out of memory, active: 0}"),
	})
}

func TestWhatTheSamplesAskFor(t *testing.T) {
	for _, c := range []struct {
		file, job string
		want      map[string]int32
		requests  map[string]string
		priority  string
	}{
		{"pipelinerun.yaml", pipelineRun, map[string]int32{"pod-set-1": 1}, map[string]string{"cpu": "4", "memory": "8Gi"}, ""},
		{"workflow.yaml", workflow, map[string]int32{"pods": 8}, map[string]string{"cpu": "1", "memory": "2Gi"}, "batch"},
		{"trainingrun.yaml", trainingRun, map[string]int32{"coordinator": 1, "workers": 3}, map[string]string{"cpu": "1"}, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			kind, j := compileSample(t, c.file).Kind(), read(t, c.job)
			sets, err := kind.PodSets(j)
			if err != nil {
				t.Fatal(err)
			}
			counts := map[string]int32{}
			for i := range sets {
				counts[string(sets[i].Name)] = sets[i].Count
			}
			requests := map[string]string{}
			for name, quantity := range sets[0].Template.Spec.Containers[0].Resources.Requests {
				requests[string(name)] = quantity.String()
			}
			if diff := cmp.Diff(c.want, counts) + cmp.Diff(c.requests, requests); diff != "" {
				t.Error(diff)
			}
			priority := ""
			if kind.Priority != nil {
				priority = kind.Priority(j)
			}
			if priority != c.priority {
				t.Errorf("its priority class is %q", priority)
			}
		})
	}
}

func TestHowTheSamplesAreSuspendedPlacedAndRestored(t *testing.T) {
	placed := job.Placement{NodeSelector: map[string]string{"zone": "a"}, Labels: map[string]string{kueue.PodSetLabel: "x"}}
	for _, c := range []struct {
		file, job string
		at        []string
	}{
		{"workflow.yaml", workflow, []string{"spec", "nodeSelector", "zone"}},
		{"trainingrun.yaml", trainingRun, []string{"spec", "workers", "template", "spec", "nodeSelector", "zone"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			kind, j := compileSample(t, c.file).Kind(), read(t, c.job)
			sets, err := kind.PodSets(j)
			if err != nil || !kind.Suspended(j) {
				t.Fatalf("suspended %v, error %v", kind.Suspended(j), err)
			}
			placements := make([]job.Placement, len(sets))
			for i := range placements {
				placements[i] = placed
			}
			if err := kind.Place(j, placements); err != nil {
				t.Fatal(err)
			}
			kind.SetSuspend(j, false)
			if zone, _, _ := unstructured.NestedString(j.Object, c.at...); zone != "a" || kind.Suspended(j) {
				t.Errorf("zone %q, suspended %v: %v", zone, kind.Suspended(j), j.Object)
			}
			kind.SetSuspend(j, true)
			kind.Restore(j, sets)
			if diff := cmp.Diff(read(t, c.job), j); diff != "" {
				t.Errorf("suspended and restored, it differs:\n%s", diff)
			}
		})
	}
}

// Tekton refuses changes of a run but of spec.status. So the run says which nodes its pods need, and nothing else is written.
func TestAPipelineRunIsStartedByItsStatusAlone(t *testing.T) {
	kind, j := compileSample(t, "pipelinerun.yaml").Kind(), read(t, pipelineRun)
	template := map[string]any{"nodeSelector": map[string]any{"pool": "batch"}, "tolerations": []any{map[string]any{"key": "pool", "operator": "Exists"}}}
	if err := unstructured.SetNestedField(j.Object, template, "spec", "taskRunTemplate", "podTemplate"); err != nil {
		t.Fatal(err)
	}
	want := j.DeepCopy()
	unstructured.RemoveNestedField(want.Object, "spec", "status")
	sets, err := kind.PodSets(j)
	if err != nil {
		t.Fatal(err)
	}
	if asks := sets[0].Template.Spec; asks.NodeSelector["pool"] != "batch" || len(asks.Tolerations) != 1 {
		t.Errorf("it asks for %v %v", asks.NodeSelector, asks.Tolerations)
	}
	placed := job.Placement{NodeSelector: map[string]string{"pool": "batch", "zone": "a"}, Tolerations: []corev1.Toleration{{Key: "spot"}}}
	if err := kind.Place(j, []job.Placement{placed}); err != nil {
		t.Fatal(err)
	}
	kind.SetSuspend(j, false)
	if diff := cmp.Diff(want, j); diff != "" {
		t.Errorf("started, it differs (-want +got):\n%s", diff)
	}
}

func TestHowTheSamplesEnd(t *testing.T) {
	for _, c := range []struct {
		name, file, job, status string
		want                    job.Progress
	}{
		{"a run that has not begun", "pipelinerun.yaml", pipelineRun, "status: {}", job.Progress{}},
		{"a run", "pipelinerun.yaml", pipelineRun, "status: {startTime: x, conditions: [{type: Succeeded, status: Unknown}]}", job.Progress{Active: true, Ready: true}},
		{"a run that ended well", "pipelinerun.yaml", pipelineRun, "status: {startTime: x, completionTime: x, conditions: [{type: Succeeded, status: 'True', message: 'Tasks Completed: 3'}]}",
			job.Progress{Finished: &job.Outcome{Success: true, Message: "Tasks Completed: 3"}}},
		{"a run that was stopped", "pipelinerun.yaml", pipelineRun, "status: {startTime: x, completionTime: x, conditions: [{type: Succeeded, status: 'False', message: was cancelled}]}",
			job.Progress{Finished: &job.Outcome{Message: "was cancelled"}}},
		{"a workflow", "workflow.yaml", workflow, "status: {phase: Running, nodes: {a: {type: DAG, phase: Running}, b: {type: Pod, phase: Running}}}", job.Progress{Active: true, Ready: true}},
		{"a workflow between two pods", "workflow.yaml", workflow, "status: {phase: Running, nodes: {a: {type: DAG, phase: Running}, b: {type: Pod, phase: Succeeded}}}", job.Progress{Ready: true}},
		{"a workflow that failed", "workflow.yaml", workflow, "status: {phase: Error, message: no such template, nodes: {b: {type: Pod, phase: Failed}}}",
			job.Progress{Finished: &job.Outcome{Message: "no such template"}}},
		{"a training run", "trainingrun.yaml", trainingRun, "status: {phase: Running, active: 2, ready: 2, succeeded: 2}",
			job.Progress{Active: true, Ready: true, Reclaimable: []kueue.ReclaimablePod{{Name: "workers", Count: 2}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind, j := compileSample(t, c.file).Kind(), read(t, c.job)
			kind.SetSuspend(j, false)
			status(t, c.status)(j)
			if diff := cmp.Diff(c.want, kind.Progress(j)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAWorkflowWithoutParallelismIsRefused(t *testing.T) {
	j := read(t, workflow)
	unstructured.RemoveNestedField(j.Object, "spec", "parallelism")
	if _, err := compileSample(t, "workflow.yaml").Kind().PodSets(j); err == nil {
		t.Error("it was not")
	}
}
