package clusters_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/e2e/clusters"
)

func TestOperatorsRunTheirKinds(t *testing.T) {
	c, err := clusters.Start(t.Context(), clusters.Options{
		Name:  "operators",
		Nodes: []clusters.NodePool{{Name: "cpu", Count: 2}},
		Operators: []clusters.Operator{
			clusters.TrainingOperator, clusters.MPIOperator, clusters.KubeRay, clusters.Trainer, clusters.LeaderWorkerSet,
			clusters.AppWrapper, clusters.SparkOperator,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	k := kinds{newClient(t, c)}
	t.Run("a PyTorchJob", k.pyTorchJob)
	t.Run("an MPIJob", k.mpiJob)
	t.Run("a RayCluster", k.rayCluster)
	t.Run("a RayJob", k.rayJob)
	t.Run("a RayService", k.rayService)
	t.Run("a TrainJob", k.trainJob)
	t.Run("a LeaderWorkerSet", k.leaderWorkerSet)
	t.Run("an AppWrapper", k.appWrapper)
	t.Run("a SparkApplication", k.sparkApplication)
}

func TestCRDsOfAnOperatorComeAndGo(t *testing.T) {
	const manifest = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: late, namespace: default}
spec:
  leaderWorkerTemplate:
    workerTemplate: {spec: {containers: [{name: main, image: serve}]}}
`
	for range 2 {
		if err := shared.InstallOperatorCRDs(t.Context(), clusters.LeaderWorkerSet); err != nil {
			t.Fatal(err)
		}
		k := kinds{newClient(t, shared)}
		set := k.create(t, manifest)
		if err := shared.RemoveOperatorCRDs(t.Context(), clusters.LeaderWorkerSet); err != nil {
			t.Fatal(err)
		}
		if err := newClient(t, shared).Get(t.Context(), client.ObjectKeyFromObject(set), set); !meta.IsNoMatchError(err) {
			t.Errorf("after its CRD the object is there, or the answer is another: %v", err)
		}
	}
}

func (k kinds) pyTorchJob(t *testing.T) {
	job := k.create(t, `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch, namespace: default}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: train}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: train}]}}
`)
	pods := client.MatchingLabels{"training.kubeflow.org/job-name": "torch"}
	k.eventuallyHas(t, job, "Running", "True")
	k.eventuallyPods(t, 3, pods)
	k.patch(t, job, `{"spec":{"runPolicy":{"suspend":true}}}`)
	k.eventuallyHas(t, job, "Suspended", "True")
	k.eventuallyPods(t, 0, pods)
	k.patch(t, job, `{"spec":{"runPolicy":{"suspend":false}}}`)
	k.eventuallyHas(t, job, "Running", "True")
	k.endPods(t, pods)
	k.eventuallyHas(t, job, "Succeeded", "True")
	k.refuses(t, "metadata.name: Invalid value", `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: 1torch, namespace: default}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: train}]}}
`)
}

func (k kinds) mpiJob(t *testing.T) {
	job := k.create(t, `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: mpi, namespace: default}
spec:
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: main, image: train}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: main, image: train}]}}
`)
	pods := client.MatchingLabels{"training.kubeflow.org/job-name": "mpi"}
	k.eventuallyHas(t, job, "Running", "True")
	k.eventuallyPods(t, 3, pods)
	k.patch(t, job, `{"spec":{"runPolicy":{"suspend":true}}}`)
	k.eventuallyHas(t, job, "Suspended", "True")
	k.eventuallyPods(t, 0, pods)
	k.patch(t, job, `{"spec":{"runPolicy":{"suspend":false}}}`)
	k.eventuallyHas(t, job, "Running", "True")
	k.endPods(t, client.MatchingLabels{"training.kubeflow.org/job-role": "launcher"})
	k.eventuallyHas(t, job, "Succeeded", "True")
}

func (k kinds) rayCluster(t *testing.T) {
	cluster := k.create(t, `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: default}
spec:
  headGroupSpec:
    template: {spec: {containers: [{name: head, image: ray}]}}
  workerGroupSpecs:
  - groupName: small
    replicas: 2
    template: {spec: {containers: [{name: worker, image: ray}]}}
`)
	pods := client.MatchingLabels{"ray.io/cluster": "ray"}
	k.eventuallyIs(t, cluster, "status.state", "ready")
	k.eventuallyPods(t, 3, pods)
	k.patch(t, cluster, `{"spec":{"suspend":true}}`)
	k.eventuallyIs(t, cluster, "status.state", "suspended")
	k.eventuallyPods(t, 0, pods)
	k.patch(t, cluster, `{"spec":{"suspend":false}}`)
	k.eventuallyIs(t, cluster, "status.state", "ready")
	k.eventuallyPods(t, 3, pods)
}

// No dashboard says how the Ray job is, because no head really runs: the operator's program plays it, by the submitter.
func (k kinds) rayJob(t *testing.T) {
	job := k.create(t, `
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: ray-job, namespace: default}
spec:
  entrypoint: python train.py
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: ray}]}}
    workerGroupSpecs:
    - groupName: small
      replicas: 1
      template: {spec: {containers: [{name: worker, image: ray}]}}
`)
	submitter := client.MatchingLabels{"job-name": "ray-job"}
	workers := client.MatchingLabels{"ray.io/originated-from-cr-name": "ray-job", "ray.io/node-type": "worker"}
	k.eventuallyIs(t, job, "status.jobDeploymentStatus", "Running")
	k.eventuallyIs(t, job, "status.jobStatus", "RUNNING")
	k.eventuallyPods(t, 1, submitter)
	k.patch(t, job, `{"spec":{"suspend":true}}`)
	k.eventuallyIs(t, job, "status.jobDeploymentStatus", "Suspended")
	k.eventuallyPods(t, 0, submitter)
	k.patch(t, job, `{"spec":{"suspend":false}}`)
	k.eventuallyIs(t, job, "status.jobStatus", "RUNNING")
	k.eventuallyPods(t, 1, submitter)
	k.endPods(t, submitter)
	k.eventuallyIs(t, job, "status.jobDeploymentStatus", "Complete")
	k.eventuallyIs(t, job, "status.jobStatus", "SUCCEEDED")
	k.eventuallyPods(t, 0, workers)
}

// Neither a dashboard nor a proxy of Ray Serve answers: the operator's program plays both.
func (k kinds) rayService(t *testing.T) {
	service := k.create(t, `
apiVersion: ray.io/v1
kind: RayService
metadata: {name: ray-service, namespace: default}
spec:
  serveConfigV2: "applications: [{name: app, import_path: app}]"
  rayClusterConfig:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: ray}]}}
    workerGroupSpecs:
    - groupName: small
      replicas: 1
      template: {spec: {containers: [{name: worker, image: ray}]}}
`)
	k.eventuallyHas(t, service, "Ready", "True")
}

func (k kinds) trainJob(t *testing.T) {
	job := k.create(t, `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: default}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, image: train}
`)
	pods := client.MatchingLabels{"jobset.sigs.k8s.io/jobset-name": "train"}
	k.eventuallyPods(t, 2, pods)
	k.patch(t, job, `{"spec":{"suspend":true}}`)
	k.eventuallyHas(t, job, "Suspended", "True")
	k.eventuallyPods(t, 0, pods)
	k.patch(t, job, `{"spec":{"suspend":false}}`)
	k.eventuallyHas(t, job, "Suspended", "False")
	k.eventuallyPods(t, 2, pods)
	k.endPods(t, pods)
	k.eventuallyHas(t, job, "Complete", "True")
	k.refuses(t, "nothing", `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train-nothing, namespace: default}
spec:
  runtimeRef: {name: nothing}
`)
}

func (k kinds) leaderWorkerSet(t *testing.T) {
	set := k.create(t, `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, namespace: default}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {containers: [{name: main, image: serve}]}}
`)
	k.eventuallyHas(t, set, "Available", "True")
	k.eventuallyPods(t, 4, client.MatchingLabels{"leaderworkerset.sigs.k8s.io/name": "serve"})
	k.refuses(t, "should be a non-negative integer", `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve-less, namespace: default}
spec:
  replicas: -1
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {containers: [{name: main, image: serve}]}}
`)
}

func (k kinds) appWrapper(t *testing.T) {
	wrapper := k.create(t, `
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: wrapper, namespace: default}
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: wrapped, namespace: default}
      spec:
        parallelism: 2
        completions: 2
        template: {spec: {restartPolicy: Never, containers: [{name: main, image: train, resources: {requests: {cpu: 1}}}]}}
`)
	pods := client.MatchingLabels{"workload.codeflare.dev/appwrapper": "wrapper"}
	k.eventuallyHas(t, wrapper, "PodsReady", "True")
	k.eventuallyIs(t, wrapper, "status.phase", "Running")
	k.eventuallyPods(t, 2, pods)
	k.patch(t, wrapper, `{"spec":{"suspend":true}}`)
	k.eventuallyIs(t, wrapper, "status.phase", "Suspended")
	k.eventuallyPods(t, 0, pods)
	k.patch(t, wrapper, `{"spec":{"suspend":false}}`)
	k.eventuallyHas(t, wrapper, "PodsReady", "True")
	k.endPods(t, pods)
	k.eventuallyIs(t, wrapper, "status.phase", "Succeeded")
	k.refuses(t, "namespace", `
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: elsewhere, namespace: default}
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: wrapped, namespace: kube-system}
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: train}]}}}
`)
}

// Nothing makes executors, because no driver really runs: a program in the place of spark-submit makes them with the driver.
func (k kinds) sparkApplication(t *testing.T) {
	app := k.create(t, `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi, namespace: default}
spec:
  type: Python
  mode: cluster
  sparkVersion: 4.0.0
  image: spark
  mainApplicationFile: local:///pi.py
  driver: {cores: 1, memory: 512m}
  executor: {instances: 2, cores: 1, memory: 512m}
`)
	pods := client.MatchingLabels{"sparkoperator.k8s.io/app-name": "pi"}
	k.eventuallyIs(t, app, "status.applicationState.state", "RUNNING")
	k.eventuallyPods(t, 3, pods)
	k.patch(t, app, `{"spec":{"suspend":true}}`)
	k.eventuallyIs(t, app, "status.applicationState.state", "SUSPENDED")
	k.eventuallyPods(t, 0, pods)
	k.patch(t, app, `{"spec":{"suspend":false}}`)
	k.eventuallyIs(t, app, "status.applicationState.state", "RUNNING")
	k.eventuallyPods(t, 3, pods)
	k.endPods(t, pods)
	k.eventuallyIs(t, app, "status.applicationState.state", "COMPLETED")
}
