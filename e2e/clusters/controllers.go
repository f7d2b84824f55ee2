package clusters

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// controllers are those whose work can be seen through a job: its pods, also by way of sets and services that operators make,
// their removal with it, its TTL, its namespace, and the tokens and roles of programs that watch it.
var controllers = []string{
	"job-controller",
	"statefulset-controller",
	"deployment-controller",
	"replicaset-controller",
	"endpointslice-controller",
	"garbage-collector-controller",
	"pod-garbage-collector-controller",
	"ttl-after-finished-controller",
	"namespace-controller",
	"resourcequota-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"clusterrole-aggregation-controller",
}

func (c *Cluster) startControllers(context.Context) error {
	if !c.options.Controllers {
		return nil
	}
	kubeconfig, err := c.UserKubeconfigFile("system:kube-controller-manager", mastersGroup)
	if err != nil {
		return err
	}
	c.manager, err = c.run("kube-controller-manager",
		"--kubeconfig="+kubeconfig,
		"--controllers="+strings.Join(controllers, ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--service-account-private-key-file="+c.file("tokens.key"),
		"--root-ca-file="+c.file("ca.crt"),
		"--concurrent-gc-syncs=5",
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--profiling=false",
	)
	return err
}

// startNodes creates the nodes, already Ready, and starts what places and plays their pods.
func (c *Cluster) startNodes(ctx context.Context) error {
	if len(c.options.Nodes) == 0 {
		return nil
	}
	if err := c.createNodes(ctx); err != nil {
		return err
	}
	if err := c.startKwok(); err != nil {
		return err
	}
	kubeconfig, err := c.UserKubeconfigFile("system:kube-scheduler", mastersGroup)
	if err != nil {
		return err
	}
	_, err = c.run("kube-scheduler",
		"--kubeconfig="+kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--profiling=false",
	)
	return err
}

func (c *Cluster) createNodes(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	for _, pool := range c.options.Nodes {
		for i := range pool.Count {
			if _, err := client.CoreV1().Nodes().Create(ctx, c.node(pool, i), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("creating a node of pool %s: %w", pool.Name, err)
			}
		}
	}
	return nil
}

func (c *Cluster) node(p NodePool, i int) *corev1.Node {
	name := fmt.Sprintf("%s-%d", p.Name, i)
	labels := map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	if p.GPUClass != "" {
		labels[GPUClassLabel] = p.GPUClass
	}
	for key, value := range p.Labels {
		labels[key] = value
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("512Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	if p.GPUs > 0 {
		room[GPUResource] = *resource.NewQuantity(int64(p.GPUs), resource.DecimalSI)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: p.Taints, ProviderID: "kwok://" + name},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(c.kubeletPort.Number)}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "played by kwok",
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
		},
	}
}
