package clusters

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operator is a program that runs kinds of jobs.
type Operator string

const (
	// JobSet runs JobSets.
	JobSet Operator = "jobset"
	// TrainingOperator runs TFJobs, PyTorchJobs, XGBoostJobs, PaddleJobs and JAXJobs.
	TrainingOperator Operator = "training-operator"
	// MPIOperator runs MPIJobs.
	MPIOperator Operator = "mpi-operator"
	// KubeRay runs RayClusters, RayJobs and RayServices. Ray's dashboards are played: a Ray job is what its submitter is.
	KubeRay Operator = "kuberay"
	// Trainer runs TrainJobs, on top of JobSet. The runtimes of its module are installed.
	Trainer Operator = "trainer"
	// LeaderWorkerSet runs LeaderWorkerSets.
	LeaderWorkerSet Operator = "lws"
	// AppWrapper runs AppWrappers.
	AppWrapper Operator = "appwrapper"
	// SparkOperator runs SparkApplications, without webhooks. Spark itself is played: executors are there as soon as the
	// driver, and run until they are ended.
	SparkOperator Operator = "spark-operator"
	// Tekton runs PipelineRuns and TaskRuns without references to others, and admits PipelineRuns by its own rules.
	Tekton Operator = "tekton"
)

// operator is how an Operator is run. The API server knows it by its program's name.
type operator struct {
	// builtIn operators come with the control plane; the others are built by themselves.
	builtIn bool
	// program is its name in bin/.
	program string
	// crds are the manifests of its CRDs, needs those of objects without which it does not start, and defaults those of what its
	// installation creates once it is ready, all with patterns; webhooks is that of its webhook configurations, if it has any.
	crds, needs, defaults, webhooks string
	// ofPods narrows the webhooks for pods, as the operator's own installation does: without it every pod would go
	// through them.
	ofPods *metav1.LabelSelector
	// args are those of the command line, and env what is added to the environment; config is what is written to
	// place.config before.
	args   func(p place) []string
	env    func(p place) []string
	config func(p place) string
}

// place is what an operator is told about where it runs.
type place struct {
	kubeconfig, config string
	// health is where it is to serve /readyz, as host:port.
	health   string
	webhooks WebhookServer
	binaries Binaries
}

var operators = map[Operator]operator{
	JobSet: {
		builtIn:  true,
		program:  "jobset-controller",
		crds:     "jobset/crd.yaml",
		webhooks: "jobset/webhooks.yaml",
		ofPods:   having("jobset.sigs.k8s.io/jobset-name"),
		args:     place.configFlags,
		config: func(p place) string {
			return fmt.Sprintf(controllerConfig, "config.jobset.x-k8s.io", p.health, p.webhooks.Port, p.webhooks.CertDir)
		},
	},
	TrainingOperator: {program: "training-operator", crds: allCRDs, webhooks: webhooks, args: place.flags},
	MPIOperator:      {program: "mpi-operator", crds: allCRDs, args: place.flags},
	KubeRay:          {program: "kuberay", crds: allCRDs, args: place.flags},
	Trainer: {
		program: "trainer", crds: allCRDs, webhooks: webhooks, defaults: "defaults/*.yaml",
		args:   place.configFlags,
		config: func(p place) string { return fmt.Sprintf(trainerConfig, p.health, p.webhooks.Port) },
	},
	LeaderWorkerSet: {
		program: "lws", crds: allCRDs, webhooks: webhooks,
		ofPods: having("leaderworkerset.sigs.k8s.io/name"),
		args:   place.configFlags,
		config: func(p place) string {
			return fmt.Sprintf(controllerConfig, "config.lws.x-k8s.io", p.health, p.webhooks.Port, p.webhooks.CertDir)
		},
	},
	AppWrapper: {program: "appwrapper", crds: allCRDs, webhooks: webhooks, args: place.flags},
	SparkOperator: {
		program: "spark-operator", crds: allCRDs,
		args: func(p place) []string {
			return []string{"--namespaces=", "--health-probe-bind-address=" + p.health, "--kube-api-qps=500", "--kube-api-burst=500"}
		},
		// What it calls inherits the environment; it insists on an address of the API server, which the player does not use.
		env: func(p place) []string {
			return []string{"KUBECONFIG=" + p.kubeconfig, "SPARK_HOME=" + p.binaries.Dir, "KUBERNETES_SERVICE_HOST=localhost", "KUBERNETES_SERVICE_PORT=0"}
		},
	},
	Tekton: {
		program: "tekton", crds: allCRDs, webhooks: webhooks, needs: "needs/*.yaml",
		args: place.flags,
		// It listens for profilers that never come: on any port that is free.
		env: func(place) []string {
			return []string{
				"SYSTEM_NAMESPACE=tekton-pipelines", "CONFIG_LEADERELECTION_NAME=config-leader-election-controller", "PROFILING_PORT=0",
			}
		},
	},
}

// Where the builder puts most manifests.
const (
	allCRDs  = "crds/*.yaml"
	webhooks = "webhooks.yaml"
)

func having(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}}}
}

// flags are those of the programs whose main is in ../controlplane/operators.
func (p place) flags() []string {
	return []string{
		"--kubeconfig=" + p.kubeconfig,
		"--health=" + p.health,
		"--webhook-port=" + strconv.Itoa(p.webhooks.Port),
		"--cert-dir=" + p.webhooks.CertDir,
	}
}

// configFlags are those of programs with a configuration file.
func (p place) configFlags() []string {
	return []string{"--kubeconfig=" + p.kubeconfig, "--config=" + p.config}
}

// controllerConfig is the configuration of JobSet and LeaderWorkerSet, which differ in the group.
const controllerConfig = `apiVersion: %s/v1alpha1
kind: Configuration
health:
  healthProbeBindAddress: %q
metrics:
  bindAddress: "0"
webhook:
  host: 127.0.0.1
  port: %d
  certDir: %q
leaderElection:
  leaderElect: false
internalCertManagement:
  enable: false
clientConnection:
  qps: 500
  burst: 500
`

// trainerConfig leaves the trainer to look for certificates where controller-runtime does: it cannot be told.
const trainerConfig = `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health:
  healthProbeBindAddress: %q
metrics:
  bindAddress: "0"
webhook:
  host: 127.0.0.1
  port: %d
leaderElection:
  leaderElect: false
certManagement:
  enable: false
clientConnection:
  qps: 500
  burst: 500
`
