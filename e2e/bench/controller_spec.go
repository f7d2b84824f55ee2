package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"switchyard.dev/e2e/bench/procfs"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// controllerSpec is a controller to be measured.
type controllerSpec struct {
	name string
	// program of Switchyard's, hub or worker; empty means worker.
	program string
	// command is its command line, in which $KUBECONFIG, $CERT_DIR, $WEBHOOK_PORT and $CONFIG stand for what they say; empty
	// for Switchyard's program with its own installation. The controller's user may do everything.
	command string
	// settings is the text of the command's Configuration, in which the same names, $METRICS and $HEALTH (addresses to
	// listen at) are replaced; $CONFIG is the file that holds it.
	settings string
	// manifests is the directory of its CRDs and, if it has any, webhook configurations.
	manifests string
	// configuration is laid over that of Switchyard's program.
	configuration map[string]any
	// bare leaves the webhooks away once they are installed, as the reference was measured.
	bare bool
	// floor is the load that is admitted without a controller, as cheaply as any could be; nil for a real controller.
	floor *load
}

// runningController is a controller that runs.
type runningController struct {
	// user is how the API server knows it.
	user string
	// pid is 0 when it runs within this process.
	pid  int
	stop func() error
	// died reports an end that was not asked for.
	died func() error
	// program is Switchyard's own; nil for another.
	program *installation.Program
}

func (c controllerSpec) start(ctx context.Context, cluster *clusters.Cluster, programs string) (*runningController, error) {
	switch {
	case c.floor != nil:
		return startFloor(ctx, cluster, *c.floor)
	case c.command != "":
		return c.startCommand(ctx, cluster)
	}
	name := cmp.Or(c.program, "worker")
	binary := filepath.Join(programs, name)
	before, err := procfs.ChildrenRunning(binary)
	if err != nil {
		return nil, err
	}
	program, err := installation.Start(ctx, installation.Options{Cluster: cluster, Binary: binary, Configuration: c.configuration})
	if err != nil {
		return nil, err
	}
	pid, err := procfs.NewChild(binary, before)
	if err == nil && c.bare {
		err = removeWebhooks(ctx, cluster)
	}
	if err != nil {
		return nil, errors.Join(err, program.Stop())
	}
	died := func() error {
		if ended, err := program.Ended(); ended {
			return fmt.Errorf("it ended and was started again: %w", errors.Join(err, errors.New(program.LogTail())))
		}
		return nil
	}
	return &runningController{user: "switchyard-" + name, pid: pid, stop: program.Stop, died: died, program: program}, nil
}

func removeWebhooks(ctx context.Context, cluster *clusters.Cluster) error {
	c, err := installation.Client(cluster)
	if err != nil {
		return err
	}
	return errors.Join(
		c.DeleteAllOf(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		c.DeleteAllOf(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{}),
	)
}

func (c controllerSpec) startCommand(ctx context.Context, cluster *clusters.Cluster) (*runningController, error) {
	found, err := readManifests(c.manifests)
	if err != nil {
		return nil, err
	}
	if err := cluster.InstallCRDs(ctx, found.crds); err != nil {
		return nil, err
	}
	const user = "bench-controller"
	values, err := c.helmValues(cluster, user)
	if err != nil {
		return nil, err
	}
	kubeconfig := values["KUBECONFIG"]
	words := strings.Fields(os.Expand(c.command, func(name string) string { return values[name] }))
	command := clusters.Command{
		Name: c.name, Path: words[0], Args: words[1:], Env: []string{"KUBECONFIG=" + kubeconfig},
		Log: filepath.Join(cluster.Dir, "controller.log"),
	}
	process, err := clusters.StartProcess(command)
	if err != nil {
		return nil, err
	}
	e := &runningController{user: user, pid: process.PID(), stop: func() error { return process.Stop(stopGrace) }, died: func() error {
		if ended, err := process.Exited(); ended {
			return fmt.Errorf("it ended: %w", errors.Join(err, errors.New(process.LogTail())))
		}
		return nil
	}}
	if err := cluster.InstallWebhooks(ctx, found.mutating, found.validating); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}

// helmValues are what the variables of a command line and its Configuration stand for, the file with the Configuration included.
func (c controllerSpec) helmValues(cluster *clusters.Cluster, user string) (map[string]string, error) {
	kubeconfig, err := cluster.UserKubeconfigFile(user, "system:masters")
	if err != nil {
		return nil, err
	}
	values := map[string]string{
		"KUBECONFIG": kubeconfig, "CERT_DIR": cluster.Webhooks.CertDir, "WEBHOOK_PORT": strconv.Itoa(cluster.Webhooks.Port),
		"CONFIG": filepath.Join(cluster.Dir, "controller.yaml"),
	}
	for _, name := range []string{"METRICS", "HEALTH"} {
		port, err := clusters.ReservePort()
		if err != nil {
			return nil, err
		}
		values[name] = port.Addr()
	}
	text := os.Expand(c.settings, func(name string) string { return values[name] })
	if err := os.WriteFile(values["CONFIG"], []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", c.name, err)
	}
	return values, nil
}

const stopGrace = 15 * time.Second

// manifests are what a directory holds; the webhook configurations may be nil.
type manifests struct {
	crds       []*apiextensionsv1.CustomResourceDefinition
	mutating   *admissionregistrationv1.MutatingWebhookConfiguration
	validating *admissionregistrationv1.ValidatingWebhookConfiguration
}

func readManifests(dir string) (manifests, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return manifests{}, err
	}
	var found manifests
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return manifests{}, fmt.Errorf("read the controller's API: %w", err)
		}
		for document := range strings.SplitSeq("\n"+string(data), "\n---") {
			if err := found.add([]byte(document)); err != nil {
				return manifests{}, fmt.Errorf("decode %s: %w", file, err)
			}
		}
	}
	if len(found.crds) == 0 {
		return manifests{}, fmt.Errorf("there are no CRDs in %q", dir)
	}
	return found, nil
}

func (m *manifests) add(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "CustomResourceDefinition":
		crd := &apiextensionsv1.CustomResourceDefinition{}
		m.crds = append(m.crds, crd)
		return yaml.Unmarshal(document, crd)
	case "MutatingWebhookConfiguration":
		m.mutating = &admissionregistrationv1.MutatingWebhookConfiguration{}
		return yaml.Unmarshal(document, m.mutating)
	case "ValidatingWebhookConfiguration":
		m.validating = &admissionregistrationv1.ValidatingWebhookConfiguration{}
		return yaml.Unmarshal(document, m.validating)
	default:
		return nil // not a part of the API
	}
}
