package kind

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	// system is the namespace of the programs, as in the guide.
	system = "kueue-system"
	// jobSetNamespace is where the JobSet controller runs.
	jobSetNamespace = "jobset-system"
	// helmTime is how long Helm waits for programs to be ready, or gone.
	helmTime = "12m"
	// jobSetVariable names the directory of the JobSet module, with its manifests.
	jobSetVariable = "SWITCHYARD_JOBSET"
)

// command runs one of the prepared programs with the clusters' kubeconfig, and returns what it says.
func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(prepared, name), args...)
	dir := filepath.Dir(kubeconfig)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// switchctl runs the command line of users; its current context is the hub.
func switchctl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := command(ctx, "switchctl", args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// helm does something with the release of a cluster, and waits until its program is ready.
func helm(ctx context.Context, c *kindCluster, verb string, args ...string) error {
	role := "worker"
	if c == hub {
		role = "hub"
	}
	all := append([]string{
		verb, "switchyard", "../../charts/switchyard", "--kube-context", c.name, "--namespace", system, "--wait", "--timeout", helmTime,
		"--set", "role=" + role,
	}, args...)
	if c == hub {
		all = append(all, "--set", "config.multiKueue.workerLostTimeout=10s")
	}
	_, err := command(ctx, "helm", all...)
	return err
}

// install makes the namespace as the guide says and installs the chart.
func install(ctx context.Context, c *kindCluster) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: system, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := c.Create(ctx, namespace); err != nil {
		return fmt.Errorf("namespace on %s: %w", c.name, err)
	}
	return helm(ctx, c, "install")
}

// jobSetManifests are those of the JobSet module, with the image that was built here.
func jobSetManifests() ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // what others depend on comes first
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(os.Getenv(jobSetVariable), "config", "default"))
	if err != nil {
		return nil, fmt.Errorf("build manifests: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("render manifests: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, object); err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		if object.GetKind() == "Deployment" {
			if err := fromPreparedImage(object); err != nil {
				return nil, err
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// installJobSet installs the JobSet API and, on a worker, its controller.
func installJobSet(ctx context.Context, c *kindCluster, manifests []*unstructured.Unstructured) error {
	for _, object := range manifests {
		if c == hub && object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := c.Create(ctx, object.DeepCopy()); err != nil {
			return fmt.Errorf("%s %s of JobSet on %s: %w", object.GetKind(), object.GetName(), c.name, err)
		}
	}
	return nil
}

// fromPreparedImage makes the Deployment run the image that was built here, with less CPU than it would reserve.
func fromPreparedImage(deployment *unstructured.Unstructured) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		return fmt.Errorf("containers of JobSet: %v, %w", containers, err)
	}
	container := containers[0].(map[string]any)
	delete(container, "command")
	container["image"] = "switchyard.dev/jobset:e2e"
	container["resources"] = map[string]any{"requests": map[string]any{"cpu": "20m", "memory": "64Mi"}}
	if err := unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		return fmt.Errorf("containers of JobSet: %w", err)
	}
	return nil
}

// available fails until all replicas of a Deployment are ready.
func (c *kindCluster) available(ctx context.Context, namespace, name string) error {
	var d appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d); err != nil {
		return err
	}
	if d.Status.ObservedGeneration < d.Generation || d.Status.ReadyReplicas < *d.Spec.Replicas || d.Status.Replicas > *d.Spec.Replicas {
		return fmt.Errorf("deployment %s on %s has %d of %d ready", name, c.name, d.Status.ReadyReplicas, *d.Spec.Replicas)
	}
	return nil
}
