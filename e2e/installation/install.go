package installation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
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

func installWebhooks(ctx context.Context, c *clusters.Cluster) error {
	mutating, validating, err := config.Webhooks()
	if err != nil {
		return err
	}
	return c.InstallWebhooks(ctx, mutating, validating)
}
