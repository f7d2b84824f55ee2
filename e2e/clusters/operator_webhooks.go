package clusters

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// operatorWebhooks are the webhook configurations of an operator.
type operatorWebhooks struct {
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
	validating admissionregistrationv1.ValidatingWebhookConfiguration
}

// installOperatorWebhooks installs webhooks once each of them is served: an operator may say that it is ready before that.
func (c *Cluster) installOperatorWebhooks(ctx context.Context, name Operator, started *startedOperator) error {
	o, at := operators[name], started.at
	if o.webhooks == "" {
		return nil
	}
	all, err := readWebhooks(at.binaries.manifest(o.webhooks))
	if err != nil {
		return err
	}
	all.mutating.Name, all.validating.Name = string(name), string(name)
	all.narrow(o.ofPods)
	client, err := at.webhooks.client()
	if err != nil {
		return err
	}
	err = waitFor(ctx, started.process, "webhooks", func(ctx context.Context) error {
		for _, url := range all.urls(at.webhooks) {
			if err := isServed(ctx, client, url); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.installWebhooks(ctx, at.webhooks, &all.mutating, &all.validating)
}

// narrow gives the webhooks for pods an object selector.
func (w *operatorWebhooks) narrow(ofPods *metav1.LabelSelector) {
	if ofPods == nil {
		return
	}
	for i, webhook := range w.mutating.Webhooks {
		if coversPods(webhook.Rules) {
			w.mutating.Webhooks[i].ObjectSelector = ofPods
		}
	}
	for i, webhook := range w.validating.Webhooks {
		if coversPods(webhook.Rules) {
			w.validating.Webhooks[i].ObjectSelector = ofPods
		}
	}
}

// urls are where the webhooks are found on this machine.
func (w *operatorWebhooks) urls(server WebhookServer) []string {
	var urls []string
	for _, webhook := range w.mutating.Webhooks {
		urls = append(urls, *server.url(webhook.ClientConfig.Service.Path))
	}
	for _, webhook := range w.validating.Webhooks {
		urls = append(urls, *server.url(webhook.ClientConfig.Service.Path))
	}
	return urls
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

// client trusts the server's certificate.
func (s WebhookServer) client() (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CABundle) {
		return nil, errors.New("no certificate in the bundle of the webhook server")
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}}, nil
}

// isServed is nil when there is a webhook at the address, whatever it says of a review without content.
func isServed(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode == http.StatusNotFound {
		return fmt.Errorf("no webhook at %s", url)
	}
	return nil
}

func readWebhooks(path string) (operatorWebhooks, error) {
	var all operatorWebhooks
	data, err := os.ReadFile(path)
	if err != nil {
		return all, fmt.Errorf("manifest: %w", err)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("manifest %s: %w", path, err)
		}
		into := any(&all.mutating)
		if bytes.Contains(document, []byte("kind: Validating")) {
			into = &all.validating
		}
		if err := yaml.Unmarshal(document, into); err != nil {
			return all, fmt.Errorf("manifest %s: %w", path, err)
		}
	}
}
