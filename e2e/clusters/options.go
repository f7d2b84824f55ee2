package clusters

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// GPUClassLabel is the node label that names a node's kind of GPU ("H100", "A100", "L4").
	GPUClassLabel = "gpu.nvidia.com/class"
	// GPUResource is the extended resource that GPU nodes offer.
	GPUResource corev1.ResourceName = "nvidia.com/gpu"

	// RunForAnnotation on a pod says how long it runs (a Go duration such as "3s", counted from the
	// moment it is Running) before it ends. A pod without it runs until it is deleted; adding it
	// later starts the count then.
	RunForAnnotation = "switchyard.dev/run-for"
	// ExitCodeAnnotation on a pod with RunForAnnotation is the exit code of its containers: "0" or
	// absent ends the pod Succeeded, anything else ends it Failed.
	ExitCodeAnnotation = "switchyard.dev/exit-code"
)

// NodePool is a set of like nodes. They exist only as API objects: kwok plays their kubelets.
type NodePool struct {
	// Name prefixes the node names: <Name>-0, <Name>-1, ...
	Name string
	// Count is the number of nodes.
	Count int
	// GPUClass, if not empty, becomes the value of GPUClassLabel.
	GPUClass string
	// GPUs is how many nvidia.com/gpu each node offers. Every node also offers 64 CPUs, 512 GiB of
	// memory and 110 pods.
	GPUs int
	// Labels and Taints are added to every node.
	Labels map[string]string
	Taints []corev1.Taint
}

// Options say what a cluster consists of. The zero value of every field but Name is usable and
// means: only etcd and kube-apiserver.
type Options struct {
	// Name is a DNS label, unique within the test or program; it names the run directory, the
	// kubeconfig context and the log lines.
	Name string
	// Binaries are the built control plane programs. The zero value finds or builds them.
	Binaries Binaries
	// Dir is the directory under which <Name>/ is made for data, certificates and logs. Empty means
	// a temporary directory that Stop removes.
	Dir string
	// Controllers runs kube-controller-manager (jobs, garbage collection, namespaces, service
	// account tokens, quotas, TTL) without nodes: Jobs get pods that stay Pending.
	Controllers bool
	// Nodes, if any, runs kube-controller-manager, kube-scheduler and kwok, so that Jobs get pods
	// that run and finish.
	Nodes []NodePool
	// Operators run with their CRDs and webhooks; OperatorCRDs have their CRDs installed only. Trainer brings JobSet along.
	Operators    []Operator
	OperatorCRDs []Operator
	// CountReadsOf are users whose reads are counted too, see Cluster.ReadCounts.
	CountReadsOf []string
	// StartTimeout bounds Start (0 means two minutes, and half a minute more for each operator).
	StartTimeout time.Duration
}

func (o Options) withDefaults() Options {
	o.Controllers = o.Controllers || len(o.Nodes) > 0
	if slices.Contains(o.Operators, Trainer) && !slices.Contains(o.Operators, JobSet) {
		o.Operators = append([]Operator{JobSet}, o.Operators...)
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 2*time.Minute + time.Duration(len(o.Operators)+len(o.OperatorCRDs))*30*time.Second
	}
	return o
}

func (o Options) validate() error {
	if msgs := validation.IsDNS1123Label(o.Name); len(msgs) > 0 {
		return fmt.Errorf("cluster name %q: %s", o.Name, msgs[0])
	}
	for _, name := range slices.Concat(o.Operators, o.OperatorCRDs) {
		if _, ok := operators[name]; !ok {
			return fmt.Errorf("no operator %q", name)
		}
	}
	for _, p := range o.Nodes {
		if msgs := validation.IsDNS1123Label(p.Name); len(msgs) > 0 {
			return fmt.Errorf("node pool name %q: %s", p.Name, msgs[0])
		}
	}
	return nil
}
