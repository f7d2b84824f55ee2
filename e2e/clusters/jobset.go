package clusters

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// startJobSet installs the JobSet API and, if asked, runs its controller as its own manifests would:
// with webhooks for JobSets and for the pods of JobSets.
func (c *Cluster) startJobSet(ctx context.Context) error {
	if !c.options.JobSet && !c.options.JobSetCRD {
		return nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := readYAML(c.options.Binaries.manifest("jobset", "crd.yaml"), &crd); err != nil {
		return err
	}
	// The module's CRD has one version: its conversion stanza, if any, has nothing to convert.
	crd.Spec.Conversion = nil
	if err := c.InstallCRDs(ctx, []*apiextensionsv1.CustomResourceDefinition{&crd}); err != nil {
		return err
	}
	if !c.options.JobSet {
		return nil
	}
	return c.runJobSetController(ctx)
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

func (c *Cluster) runJobSetController(ctx context.Context) error {
	server, err := c.newWebhookServer("jobset")
	if err != nil {
		return err
	}
	health, err := c.reserve()
	if err != nil {
		return err
	}
	config := fmt.Sprintf(jobSetConfig, health.Addr(), server.Port, server.CertDir)
	if err := os.WriteFile(c.file("jobset.yaml"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("configuration of the JobSet controller: %w", err)
	}
	kubeconfig, err := c.UserKubeconfigFile("jobset-controller", mastersGroup)
	if err != nil {
		return err
	}
	process, err := c.run("jobset-controller", "--kubeconfig="+kubeconfig, "--config="+c.file("jobset.yaml"))
	if err != nil {
		return err
	}
	err = waitFor(ctx, process, "readiness", func(ctx context.Context) error { return waitForOK(ctx, "http://"+health.Addr()+"/readyz") })
	if err != nil {
		return err
	}
	return c.installJobSetWebhooks(ctx, server)
}

// installJobSetWebhooks narrows the webhooks for pods to those of JobSets, as the module's
// installation does: without it every pod would go through them.
func (c *Cluster) installJobSetWebhooks(ctx context.Context, server WebhookServer) error {
	mutating, validating, err := readWebhooks(c.options.Binaries.manifest("jobset", "webhooks.yaml"))
	if err != nil {
		return err
	}
	ofJobSets := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "jobset.sigs.k8s.io/jobset-name", Operator: metav1.LabelSelectorOpExists},
	}}
	mutating.Name, validating.Name = "jobset", "jobset"
	for i, webhook := range mutating.Webhooks {
		if coversPods(webhook.Rules) {
			mutating.Webhooks[i].ObjectSelector = ofJobSets
		}
	}
	for i, webhook := range validating.Webhooks {
		if coversPods(webhook.Rules) {
			validating.Webhooks[i].ObjectSelector = ofJobSets
		}
	}
	return c.installWebhooks(ctx, server, &mutating, &validating)
}

func coversPods(rules []admissionregistrationv1.RuleWithOperations) bool {
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			if resource == "pods" {
				return true
			}
		}
	}
	return false
}

func readWebhooks(path string) (
	mutating admissionregistrationv1.MutatingWebhookConfiguration,
	validating admissionregistrationv1.ValidatingWebhookConfiguration,
	err error,
) {
	data, err := os.ReadFile(path)
	if err != nil {
		return mutating, validating, fmt.Errorf("manifest: %w", err)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return mutating, validating, nil
		}
		if err != nil {
			return mutating, validating, fmt.Errorf("manifest %s: %w", path, err)
		}
		into := any(&mutating)
		if bytes.Contains(document, []byte("kind: Validating")) {
			into = &validating
		}
		if err := yaml.Unmarshal(document, into); err != nil {
			return mutating, validating, fmt.Errorf("manifest %s: %w", path, err)
		}
	}
}

func readYAML(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("manifest %s: %w", path, err)
	}
	return nil
}

func waitForOK(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return nil
}
