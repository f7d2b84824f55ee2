package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// WebhookServer is an address on loopback at which a program is to serve webhooks, with the serving
// certificate it shall use: give Port and CertDir (tls.crt, tls.key) to the program.
type WebhookServer struct {
	Port    int
	CertDir string
	// CABundle is what the API server trusts.
	CABundle []byte
}

// certDir is where controller-runtime looks for serving certificates in the directory of temporary files, unless told
// otherwise. Some programs cannot be told.
const certDir = "k8s-webhook-server/serving-certs"

func (c *Cluster) newWebhookServer(name string) (WebhookServer, error) {
	port, err := c.reserve()
	if err != nil {
		return WebhookServer{}, err
	}
	dir := filepath.Join(c.Dir, name, certDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return WebhookServer{}, fmt.Errorf("certificates of %s: %w", name, err)
	}
	pair, err := c.ca.server(name)
	if err != nil {
		return WebhookServer{}, err
	}
	if err := pair.write(dir, "tls"); err != nil {
		return WebhookServer{}, fmt.Errorf("certificates of %s: %w", name, err)
	}
	return WebhookServer{Port: port.Number, CertDir: dir, CABundle: c.ca.pem}, nil
}

// url is where a webhook that was written for an in-cluster service is found on this machine.
func (s WebhookServer) url(path *string) *string {
	return ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", s.Port, ptr.Deref(path, "/")))
}

func (s WebhookServer) redirect(config *admissionregistrationv1.WebhookClientConfig) {
	if config.Service != nil {
		*config = admissionregistrationv1.WebhookClientConfig{URL: s.url(config.Service.Path), CABundle: s.CABundle}
	}
}

// InstallCRDs applies CRDs and returns when all are served. Conversion webhooks are redirected to
// Cluster.Webhooks.
func (c *Cluster) InstallCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := apiextensions.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range crds {
		crd = crd.DeepCopy()
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if conversion := crd.Spec.Conversion; conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
			if service := conversion.Webhook.ClientConfig.Service; service != nil {
				conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
					URL: c.Webhooks.url(service.Path), CABundle: c.Webhooks.CABundle,
				}
			}
		}
		if err := apply(ctx, crd.Name, crd, api.Patch); err != nil {
			return fmt.Errorf("installing a CRD on %s: %w", c.Name, err)
		}
	}
	for _, crd := range crds {
		err := waitFor(ctx, c.apiserver, "CRD "+crd.Name, func(ctx context.Context) error {
			got, err := api.Get(ctx, crd.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := isEstablished(got); err != nil {
				return err
			}
			return list(ctx, client, crd)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveCRDs removes CRDs, and with them all objects of their kinds, and returns when they are gone. One that is not there is no
// error.
func (c *Cluster) RemoveCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := apiextensions.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range crds {
		if err := api.Delete(ctx, crd.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing a CRD from %s: %w", c.Name, err)
		}
	}
	for _, crd := range crds {
		err := waitFor(ctx, c.apiserver, "removal of CRD "+crd.Name, func(ctx context.Context) error {
			got, err := api.Get(ctx, crd.Name, metav1.GetOptions{})
			if err == nil {
				return fmt.Errorf("still there: %+v", got.Status.Conditions)
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
			if err := list(ctx, client, crd); !apierrors.IsNotFound(err) {
				return fmt.Errorf("still served (%w)", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// list lists the objects of a CRD: the API server begins and ceases to serve them a moment after the CRD says so.
func list(ctx context.Context, client apiextensions.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		path := []string{"apis", crd.Spec.Group, version.Name, crd.Spec.Names.Plural}
		if err := client.Discovery().RESTClient().Get().AbsPath(path...).Param("limit", "1").Do(ctx).Error(); err != nil {
			return err
		}
	}
	return nil
}

func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return nil
		}
	}
	return errors.New("not established")
}

// InstallWebhooks applies webhook configurations, either of which may be nil or empty, with services redirected to
// Cluster.Webhooks. They take effect at once: objects that a webhook must see can be written only when the
// program that serves it runs.
func (c *Cluster) InstallWebhooks(ctx context.Context, mutating *admissionregistrationv1.MutatingWebhookConfiguration,
	validating *admissionregistrationv1.ValidatingWebhookConfiguration,
) error {
	return c.installWebhooks(ctx, c.Webhooks, mutating, validating)
}

func (c *Cluster) installWebhooks(ctx context.Context, server WebhookServer,
	mutating *admissionregistrationv1.MutatingWebhookConfiguration,
	validating *admissionregistrationv1.ValidatingWebhookConfiguration,
) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	api := client.AdmissionregistrationV1()
	if mutating != nil && len(mutating.Webhooks) > 0 {
		mutating = mutating.DeepCopy()
		mutating.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"))
		for i := range mutating.Webhooks {
			server.redirect(&mutating.Webhooks[i].ClientConfig)
		}
		if err := apply(ctx, mutating.Name, mutating, api.MutatingWebhookConfigurations().Patch); err != nil {
			return fmt.Errorf("installing webhooks on %s: %w", c.Name, err)
		}
	}
	if validating != nil && len(validating.Webhooks) > 0 {
		validating = validating.DeepCopy()
		validating.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"))
		for i := range validating.Webhooks {
			server.redirect(&validating.Webhooks[i].ClientConfig)
		}
		if err := apply(ctx, validating.Name, validating, api.ValidatingWebhookConfigurations().Patch); err != nil {
			return fmt.Errorf("installing webhooks on %s: %w", c.Name, err)
		}
	}
	return nil
}

// patcher is the Patch method of a typed client.
type patcher[T any] func(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (T, error)

// apply writes an object by server-side apply, so that installing twice is no error.
func apply[T any](ctx context.Context, name string, object any, patch patcher[T]) error {
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	options := metav1.PatchOptions{FieldManager: "switchyard-clusters", Force: ptr.To(true)}
	_, err = patch(ctx, name, types.ApplyPatchType, data, options)
	return err
}
