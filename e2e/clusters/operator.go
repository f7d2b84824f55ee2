package clusters

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// startOperators installs the CRDs that are asked for and runs the operators.
func (c *Cluster) startOperators(ctx context.Context) error {
	for _, name := range c.options.OperatorCRDs {
		if err := c.InstallOperatorCRDs(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range c.options.Operators {
		if err := c.startOperator(ctx, name); err != nil {
			return fmt.Errorf("operator %s: %w", name, err)
		}
	}
	return nil
}

// InstallOperatorCRDs installs the CRDs of an operator, which need not run.
func (c *Cluster) InstallOperatorCRDs(ctx context.Context, name Operator) error {
	crds, err := c.crdsOf(ctx, name)
	if err != nil {
		return err
	}
	return c.InstallCRDs(ctx, crds)
}

// RemoveOperatorCRDs removes the CRDs of an operator, and with them all objects of its kinds. It returns when they are gone.
func (c *Cluster) RemoveOperatorCRDs(ctx context.Context, name Operator) error {
	crds, err := c.crdsOf(ctx, name)
	if err != nil {
		return err
	}
	return c.RemoveCRDs(ctx, crds)
}

func (c *Cluster) crdsOf(ctx context.Context, name Operator) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	binaries, err := c.binariesOf(ctx, name)
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, pattern := range operators[name].crds {
		paths, err := filepath.Glob(binaries.manifest(pattern))
		if err != nil {
			return nil, fmt.Errorf("CRDs of %s: %w", name, err)
		}
		for _, path := range paths {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("manifest: %w", err)
			}
			if err := yaml.Unmarshal(data, crd); err != nil {
				return nil, fmt.Errorf("manifest %s: %w", path, err)
			}
			// None of them has a version that another is converted to, so a stanza would only name a service that is not here.
			crd.Spec.Conversion = nil
			crds = append(crds, crd)
		}
	}
	if len(crds) == 0 {
		return nil, fmt.Errorf("no CRDs of %s in %s", name, binaries.Dir)
	}
	return crds, nil
}

func (c *Cluster) binariesOf(ctx context.Context, name Operator) (Binaries, error) {
	o, ok := operators[name]
	if !ok {
		return Binaries{}, fmt.Errorf("no operator %q", name)
	}
	if o.builtIn {
		return c.options.Binaries, nil
	}
	return findOperator(ctx, name, os.Stderr)
}

// startOperator runs an operator as its own manifests would, with its CRDs and webhooks, and returns when it is ready.
func (c *Cluster) startOperator(ctx context.Context, name Operator) error {
	if err := c.InstallOperatorCRDs(ctx, name); err != nil {
		return err
	}
	at, err := c.newPlace(name)
	if err != nil {
		return err
	}
	process, err := c.runOperator(ctx, name, at)
	if err != nil {
		return err
	}
	err = waitFor(ctx, process, "readiness", func(ctx context.Context) error { return waitForOK(ctx, "http://"+at.health+"/readyz") })
	if err != nil {
		return err
	}
	return c.installOperatorWebhooks(ctx, name, at.webhooks, process)
}

func (c *Cluster) newPlace(name Operator) (place, error) {
	server, err := c.newWebhookServer(string(name))
	if err != nil {
		return place{}, err
	}
	health, err := c.reserve()
	if err != nil {
		return place{}, err
	}
	kubeconfig, err := c.UserKubeconfigFile(operators[name].program, mastersGroup)
	return place{kubeconfig: kubeconfig, config: c.file(string(name) + ".yaml"), health: health.Addr(), webhooks: server}, err
}

func (c *Cluster) runOperator(ctx context.Context, name Operator, at place) (*Process, error) {
	o := operators[name]
	binaries, err := c.binariesOf(ctx, name)
	if err != nil {
		return nil, err
	}
	if o.config != nil {
		if err := os.WriteFile(at.config, []byte(o.config(at)), 0o600); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
	}
	return c.runFrom(binaries, Command{
		Name: o.program,
		Args: o.args(at),
		Env:  []string{"TMPDIR=" + c.file(string(name))},
	})
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
