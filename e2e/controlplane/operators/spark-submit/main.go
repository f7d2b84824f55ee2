// Command spark-submit plays Spark for the Spark operator, which calls it by this name: it makes the driver's pod and, as the
// driver would, the executors', from the properties and pod templates that it is given. It knows those that decide
// how many pods there are, where they may run and what they ask for. The API server is that of $KUBECONFIG.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/kubeflow/spark-operator/v2/pkg/common"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/yaml"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, parse(os.Args[1:]))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "spark-submit:", err)
		os.Exit(1)
	}
}

// properties are Spark's, by name.
type properties map[string]string

// parse reads the properties of a command line; all else on it is for programs that do not run here.
func parse(args []string) properties {
	all := properties{}
	for i := 0; i+1 < len(args); i++ {
		if args[i] != "--conf" {
			continue
		}
		if name, value, ok := strings.Cut(args[i+1], "="); ok {
			all[name] = value
		}
	}
	return all
}

func run(ctx context.Context, p properties) error {
	rest, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("configuration of the client: %w", err)
	}
	api, err := client.New(rest, client.Options{})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	driver, err := p.pod(common.SparkRoleDriver)
	if err != nil {
		return err
	}
	driver.Name = p[common.SparkKubernetesDriverPodName]
	if err := api.Create(ctx, driver); err != nil {
		return fmt.Errorf("driver: %w", err)
	}
	executors, err := strconv.Atoi(p[common.SparkExecutorInstances])
	if err != nil {
		executors = 2 // as many as Spark has when it is not told
	}
	for i := 1; i <= executors; i++ {
		executor, err := p.pod(common.SparkRoleExecutor)
		if err != nil {
			return err
		}
		executor.Name = fmt.Sprintf("%s-%.8s-exec-%d", driver.Name, driver.Labels[common.LabelSubmissionID], i)
		executor.Labels[common.LabelSparkExecutorID] = strconv.Itoa(i)
		// The driver only: real executors end with it, and these are collected.
		executor.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(driver, corev1.SchemeGroupVersion.WithKind("Pod"))}
		if err := api.Create(ctx, executor); err != nil {
			return fmt.Errorf("executor %d: %w", i, err)
		}
	}
	return nil
}

// pod is that of a role: its template with what the properties add.
func (p properties) pod(role string) (*corev1.Pod, error) {
	prefix := "spark.kubernetes." + role + "."
	pod := &corev1.Pod{}
	if path := p[prefix+"podTemplateFile"]; path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("template of the %s: %w", role, err)
		}
		if err := yaml.Unmarshal(data, pod); err != nil {
			return nil, fmt.Errorf("template of the %s: %w", role, err)
		}
	}
	if len(pod.Spec.Containers) == 0 {
		pod.Spec.Containers = []corev1.Container{{Name: "spark-kubernetes-" + role}}
	}
	pod.Namespace = p[common.SparkKubernetesNamespace]
	pod.Labels = merged(pod.Labels, p.under(prefix+"label."), map[string]string{common.LabelSparkRole: role})
	pod.Annotations = merged(pod.Annotations, p.under(prefix+"annotation."))
	pod.Spec.NodeSelector = merged(pod.Spec.NodeSelector, p.under("spark.kubernetes.node.selector."), p.under(prefix+"node.selector."))
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	container := &pod.Spec.Containers[0]
	if container.Image == "" {
		container.Image = p[common.SparkKubernetesContainerImage]
	}
	return pod, p.request(role, container)
}

// under are the properties below a prefix, without it.
func (p properties) under(prefix string) map[string]string {
	found := map[string]string{}
	for name, value := range p {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			found[rest] = value
		}
	}
	return found
}

func merged(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, one := range all {
		maps.Copy(result, one)
	}
	return result
}
