package installation

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
)

// Aggregate has the cluster's API server serve the API of a program beside it, and returns when it does. While the program is away,
// the API server cannot tell what it serves, and namespaces stay until it can: see Disaggregate.
func Aggregate(ctx context.Context, c *clusters.Cluster, p *Program) error {
	administrator, objects, err := aggregation(c, p)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := administrator.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("API services of %s: %w", c.Name, err)
		}
	}
	return waitServed(ctx, c, objects)
}

// Disaggregate undoes Aggregate.
func Disaggregate(ctx context.Context, c *clusters.Cluster, p *Program) error {
	administrator, objects, err := aggregation(c, p)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := administrator.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("API services of %s: %w", c.Name, err)
		}
	}
	return nil
}

// aggregation returns an administrator's client, the API services, and a Service that leads to this machine.
func aggregation(c *clusters.Cluster, p *Program) (client.Client, []client.Object, error) {
	administrator, err := Client(c)
	if err != nil {
		return nil, nil, err
	}
	services, err := config.APIServices()
	if err != nil {
		return nil, nil, err
	}
	if p.isHub {
		access, err := config.Access()
		if err != nil {
			return nil, nil, err
		}
		services = append(services, access...)
	}
	objects := []client.Object{&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "visibility-server"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}}
	for _, service := range services {
		if service.GetKind() != "APIService" {
			objects = append(objects, service)
			continue
		}
		if err := unstructured.SetNestedField(service.Object, int64(p.APIPort), "spec", "service", "port"); err != nil {
			return nil, nil, fmt.Errorf("port of %s: %w", service.GetName(), err)
		}
		objects = append(objects, service)
	}
	return administrator, objects, nil
}

// waitServed returns when the API server serves the group and version of each API service.
func waitServed(ctx context.Context, c *clusters.Cluster, objects []client.Object) error {
	api, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for _, object := range objects {
		service, ok := object.(*unstructured.Unstructured)
		if !ok || service.GetKind() != "APIService" {
			continue
		}
		group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(service.Object, "spec", "version")
		for {
			err := api.Discovery().RESTClient().Get().AbsPath("apis", group, version).Do(ctx).Error()
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s is not served by %s: %w", service.GetName(), c.Name, errors.Join(ctx.Err(), err))
			case <-ticker.C:
			}
		}
	}
	return nil
}
