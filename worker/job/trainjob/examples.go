package trainjob

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// Examples returns a TrainJob, its runtime, and what the trainer makes of its status.
func Examples() job.Examples[*unstructured.Unstructured] {
	return job.Examples[trainJob]{
		Job:        func() trainJob { return parse(sample) },
		Inputs:     func() []client.Object { return []client.Object{parse(sampleRuntime)} },
		Started:    jobsAre(`[{"name": "model-initializer", "succeeded": 1}, {"name": "node", "ready": 1, "active": 1}]`, ""),
		Suspending: jobsAre(`[{"name": "model-initializer", "succeeded": 1}, {"name": "node", "suspended": 1}]`, "Suspended"),
		Succeeded:  jobsAre(`[{"name": "model-initializer", "succeeded": 1}, {"name": "node", "succeeded": 1}]`, "Complete"),
		Failed:     jobsAre(`[{"name": "model-initializer", "succeeded": 1}, {"name": "node", "failed": 1}]`, "Failed"),
	}
}

// sample is a TrainJob of four nodes, with a patch of its user's and the one of the webhook.
const sample = `{
	"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
	"metadata": {"name": "train", "namespace": "team", "uid": "u-1", "resourceVersion": "5", "generation": 2,
		"labels": {"kueue.x-k8s.io/queue-name": "main"}, "annotations": {"note": "mine"}},
	"spec": {
		"suspend": true, "future": {"kept": true},
		"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "torch"},
		"trainer": {"numNodes": 4, "image": "train:2", "resourcesPerNode": {"requests": {"cpu": "2"}}},
		"runtimePatches": [
			{"manager": "example.com/user", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
				{"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}}}}]}}}},
			{"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {}}}}]}}`

// sampleRuntime has an initializer and nodes.
const sampleRuntime = `{
	"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"},
	"spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [
		{"name": "model-initializer", "replicas": 1, "template": {
			"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "model-initializer"}},
			"spec": {"template": {
				"metadata": {"labels": {"app": "fetch"}, "annotations": {"scrape": "no"}},
				"spec": {"containers": [{"name": "model-initializer", "image": "fetch:1"}], "nodeSelector": {"arch": "arm64"}}}}}},
		{"name": "node", "replicas": 1, "dependsOn": [{"name": "model-initializer", "status": "Complete"}], "template": {
			"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
			"spec": {"template": {
				"metadata": {"labels": {"app": "train"}, "annotations": {"scrape": "yes"}},
				"spec": {
					"containers": [{"name": "node", "image": "train:1", "resources": {"requests": {"memory": "1Gi"}}}],
					"nodeSelector": {"arch": "arm64"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}}}}}]}}}}`

// parse reads an object.
func parse(text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		panic(fmt.Sprintf("example of a TrainJob: %v", err))
	}
	return obj
}

// jobsAre makes the status one of these jobs, with a condition that is true.
func jobsAre(jobs, condition string) func(trainJob) {
	return func(tj trainJob) {
		status := parse(`{"apiVersion": "v1", "kind": "Status", "jobsStatus": ` + jobs + `}`).Object
		tj.Object["status"] = map[string]any{"jobsStatus": status["jobsStatus"]}
		if condition != "" {
			set(tj, []any{map[string]any{"type": condition, "status": "True", "reason": "Over", "message": "it is over"}}, "status", "conditions")
		}
	}
}
