package clusters

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operator is a program that runs a kind of jobs.
type Operator string

const (
	// JobSet runs JobSets.
	JobSet Operator = "jobset"
	// TrainingOperator runs TFJobs, PyTorchJobs, XGBoostJobs, PaddleJobs and JAXJobs.
	TrainingOperator Operator = "training-operator"
)

// operator is how an Operator is run.
type operator struct {
	// builtIn operators come with the control plane; the others are built by themselves.
	builtIn bool
	// program is its name in bin/.
	program string
	// crds are the manifests of its CRDs, with patterns.
	crds []string
	// webhooks is the manifest of its webhook configurations; "" if it has none.
	webhooks string
	// ofPods narrows the webhooks for pods, as the operator's own installation does: without it every pod would go
	// through them.
	ofPods *metav1.LabelSelector
	// args are those of the command line; config is what is written to place.config before.
	args   func(p place) []string
	config func(p place) string
}

// place is what an operator is told about where it runs.
type place struct {
	kubeconfig, config string
	// health is where it is to serve /readyz, as host:port.
	health   string
	webhooks WebhookServer
}

var operators = map[Operator]operator{
	JobSet: {
		builtIn:  true,
		program:  "jobset-controller",
		crds:     []string{"jobset/crd.yaml"},
		webhooks: "jobset/webhooks.yaml",
		ofPods:   exists("jobset.sigs.k8s.io/jobset-name"),
		args:     func(p place) []string { return []string{"--kubeconfig=" + p.kubeconfig, "--config=" + p.config} },
		config:   func(p place) string { return fmt.Sprintf(jobSetConfig, p.health, p.webhooks.Port, p.webhooks.CertDir) },
	},
	TrainingOperator: {
		program:  "training-operator",
		crds:     []string{"crds/*.yaml"},
		webhooks: "webhooks.yaml",
		args:     place.flags,
	},
}

func exists(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}}}
}

// flags are those of the programs whose main is in ../controlplane/operators.
func (p place) flags() []string {
	return []string{
		"--kubeconfig=" + p.kubeconfig,
		"--health=" + p.health,
		fmt.Sprintf("--webhook-port=%d", p.webhooks.Port),
		"--cert-dir=" + p.webhooks.CertDir,
	}
}

const jobSetConfig = `apiVersion: config.jobset.x-k8s.io/v1alpha1
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
