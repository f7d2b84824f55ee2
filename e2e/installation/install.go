package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/worker/job/podgroup"
)

func installAPI(ctx context.Context, c *clusters.Cluster) error {
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	if err := c.InstallCRDs(ctx, crds); err != nil {
		return err
	}
	return createNamespace(ctx, c)
}

func createNamespace(ctx context.Context, c *clusters.Cluster) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	_, err = client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s on %s: %w", Namespace, c.Name, err)
	}
	return nil
}

// installWebhooks installs the webhooks of an installation whose integrations have these names.
func installWebhooks(ctx context.Context, c *clusters.Cluster, frameworks []string) error {
	mutating, validating, err := config.Webhooks()
	if err != nil {
		return err
	}
	of, others, err := config.PodWebhooks()
	if err != nil {
		return err
	}
	for i := range of.Webhooks {
		if isAskedFor(of.Webhooks[i].Rules, frameworks) {
			mutating.Webhooks = append(mutating.Webhooks, of.Webhooks[i])
		}
	}
	for i := range others.Webhooks {
		if isAskedFor(others.Webhooks[i].Rules, frameworks) {
			validating.Webhooks = append(validating.Webhooks, others.Webhooks[i])
		}
	}
	return c.InstallWebhooks(ctx, mutating, validating)
}

// isAskedFor tells whether one of the integrations needs a webhook of pods, Deployments or StatefulSets, as charts/switchyard does.
func isAskedFor(rules []admissionregistrationv1.RuleWithOperations, frameworks []string) bool {
	if resource := rules[0].Resources[0]; resource != "pods" {
		return slices.Contains(frameworks, strings.TrimSuffix(resource, "s"))
	}
	return podgroup.IsServed(frameworks)
}

// frameworksOf are the integrations that a configuration names.
func frameworksOf(configuration map[string]any) []string {
	integrations, _ := configuration["integrations"].(map[string]any)
	list, _ := integrations["frameworks"].([]any)
	var names []string
	for _, name := range list {
		names = append(names, fmt.Sprint(name))
	}
	return names
}
