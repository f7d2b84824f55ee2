package config

import (
	"bytes"
	_ "embed"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed webhook/manifests.yaml
var webhookFile []byte

//go:embed pods/manifests.yaml
var podWebhookFile []byte

// Webhooks returns the configurations of the admission webhooks that every
// installation has. Each call returns new objects.
func Webhooks() (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return DecodeWebhooks(webhookFile)
}

// PodWebhooks returns the webhooks of pods, Deployments and StatefulSets, to be
// added to those of [Webhooks] where they are asked for.
func PodWebhooks() (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return DecodeWebhooks(podWebhookFile)
}

// DecodeWebhooks reads a file of one mutating and one validating configuration.
func DecodeWebhooks(data []byte) (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return nil, nil, fmt.Errorf("decoding the webhooks: %w", err)
		}
		var into any
		switch meta.Kind {
		case "MutatingWebhookConfiguration":
			into = mutating
		case "ValidatingWebhookConfiguration":
			into = validating
		default:
			return nil, nil, fmt.Errorf("decoding the webhooks: unexpected kind %q", meta.Kind)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			return nil, nil, fmt.Errorf("decoding the webhooks: %w", err)
		}
	}
	return mutating, validating, nil
}

// ServeWebhooks makes every webhook use the client configuration for its path,
// the path being the one under which its handler is registered.
func ServeWebhooks(
	mutating *admissionregistrationv1.MutatingWebhookConfiguration,
	validating *admissionregistrationv1.ValidatingWebhookConfiguration,
	client func(path string) admissionregistrationv1.WebhookClientConfig,
) {
	for i := range mutating.Webhooks {
		hook := &mutating.Webhooks[i]
		hook.ClientConfig = client(pathOf(hook.ClientConfig))
	}
	for i := range validating.Webhooks {
		hook := &validating.Webhooks[i]
		hook.ClientConfig = client(pathOf(hook.ClientConfig))
	}
}

func pathOf(client admissionregistrationv1.WebhookClientConfig) string {
	if client.Service == nil || client.Service.Path == nil {
		return ""
	}
	return *client.Service.Path
}
