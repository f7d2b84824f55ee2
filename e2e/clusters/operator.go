package clusters

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// startOperators installs the CRDs that are asked for and runs the operators.
func (c *Cluster) startOperators(ctx context.Context) error {
	for _, name := range c.options.OperatorCRDs {
		if err := c.InstallOperatorCRDs(ctx, name); err != nil {
			return err
		}
	}
	started := map[Operator]*startedOperator{}
	for _, name := range c.options.Operators {
		o, err := c.startOperator(ctx, name)
		if err != nil {
			return fmt.Errorf("operator %s: %w", name, err)
		}
		started[name] = o
	}
	for _, name := range c.options.Operators {
		if err := c.finishOperator(ctx, name, started[name]); err != nil {
			return fmt.Errorf("operator %s: %w", name, err)
		}
	}
	return nil
}

// startedOperator is one that may not be ready.
type startedOperator struct {
	at      place
	process *Process
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
	crds, err := readManifests[apiextensionsv1.CustomResourceDefinition](binaries.manifest(operators[name].crds))
	for _, crd := range crds {
		// The stored version is the newest of each, and nobody here speaks an older one, which would cost the API server seconds to
		// digest. So there is nothing to convert either.
		crd.Spec.Conversion = nil
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Storage })
	}
	return crds, err
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

// startOperator installs the CRDs of an operator and runs it.
func (c *Cluster) startOperator(ctx context.Context, name Operator) (*startedOperator, error) {
	if err := c.InstallOperatorCRDs(ctx, name); err != nil {
		return nil, err
	}
	at, err := c.newPlace(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := c.createObjects(ctx, at, operators[name].needs); err != nil {
		return nil, err
	}
	process, err := c.runOperator(name, at)
	return &startedOperator{at: at, process: process}, err
}

// finishOperator installs what an operator needs once it is ready, as its own manifests would, and returns when that is done.
func (c *Cluster) finishOperator(ctx context.Context, name Operator, o *startedOperator) error {
	err := waitFor(ctx, o.process, "readiness", func(ctx context.Context) error { return waitForOK(ctx, "http://"+o.at.health+"/readyz") })
	if err != nil {
		return err
	}
	if err := c.installOperatorWebhooks(ctx, name, o); err != nil {
		return err
	}
	return c.createObjects(ctx, o.at, operators[name].defaults)
}

func (c *Cluster) newPlace(ctx context.Context, name Operator) (place, error) {
	binaries, err := c.binariesOf(ctx, name)
	if err != nil {
		return place{}, err
	}
	server, err := c.newWebhookServer(string(name))
	if err != nil {
		return place{}, err
	}
	health, err := c.reserve()
	if err != nil {
		return place{}, err
	}
	kubeconfig, err := c.UserKubeconfigFile(operators[name].program, mastersGroup)
	if err != nil {
		return place{}, err
	}
	return place{
		kubeconfig: kubeconfig, config: c.file(string(name) + ".yaml"), health: health.Addr(), webhooks: server, binaries: binaries,
	}, nil
}

func (c *Cluster) runOperator(name Operator, at place) (*Process, error) {
	o := operators[name]
	if o.config != nil {
		if err := os.WriteFile(at.config, []byte(o.config(at)), 0o600); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
	}
	command := Command{Name: o.program, Args: o.args(at), Env: []string{"TMPDIR=" + c.file(string(name))}}
	if o.env != nil {
		command.Env = append(command.Env, o.env(at)...)
	}
	return c.runFrom(at.binaries, command)
}

// createObjects creates the objects in an operator's manifests that match a pattern; none if that is empty.
func (c *Cluster) createObjects(ctx context.Context, at place, pattern string) error {
	if pattern == "" {
		return nil
	}
	objects, err := readManifests[unstructured.Unstructured](at.binaries.manifest(pattern))
	if err != nil {
		return err
	}
	client, err := client.New(c.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	for _, object := range objects {
		if err := client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// readManifests reads the files that match a pattern, of which there must be some.
func readManifests[T any](pattern string) ([]*T, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("manifests: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there are no manifests %s", pattern)
	}
	var all []*T
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		object := new(T)
		if err := yaml.Unmarshal(data, object); err != nil {
			return nil, fmt.Errorf("manifest %s: %w", path, err)
		}
		all = append(all, object)
	}
	return all, nil
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
