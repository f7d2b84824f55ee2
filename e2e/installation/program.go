package installation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"switchyard.dev/e2e/clusters"
)

// Namespace is where the programs live in their clusters, with the kubeconfig Secrets on the hub.
const Namespace = "kueue-system"

const (
	readyTimeout = time.Minute
	stopGrace    = 15 * time.Second
	pollEvery    = 50 * time.Millisecond
)

// Program is one Switchyard program, the hub's or a worker's, beside its cluster. Its ports stay the same over restarts.
type Program struct {
	// Log is the file that collects the program's output over all its lives.
	Log string
	// Metrics and Health are base URLs.
	Metrics, Health string

	cluster *clusters.Cluster
	command clusters.Command
	process *clusters.Process
}

// Options say which program to run beside a cluster.
type Options struct {
	// Cluster it serves; CRDs and webhooks are installed there.
	Cluster *clusters.Cluster
	// Binary is the program's path; its base name ("hub", "worker") names its user and its log.
	Binary string
	// Configuration is merged over the defaults of this package, field by field: a config.kueue.x-k8s.io Configuration.
	Configuration map[string]any
}

// Start installs Switchyard's CRDs, starts the program, and installs its webhooks once it is ready.
func Start(ctx context.Context, o Options) (*Program, error) {
	if err := installAPI(ctx, o.Cluster); err != nil {
		return nil, err
	}
	p, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if err := installWebhooks(ctx, o.Cluster); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// prepare writes the program's kubeconfig and configuration.
func prepare(o Options) (*Program, error) {
	name := filepath.Base(o.Binary)
	kubeconfig, err := o.Cluster.UserKubeconfigFile("switchyard-"+name, "system:masters")
	if err != nil {
		return nil, err
	}
	metrics, err := clusters.ReservePort()
	if err != nil {
		return nil, err
	}
	health, err := clusters.ReservePort()
	if err != nil {
		return nil, err
	}
	configuration := merge(configurationOf(o.Cluster, metrics.Addr(), health.Addr()), o.Configuration)
	data, err := yaml.Marshal(configuration)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", name, err)
	}
	file := filepath.Join(o.Cluster.Dir, name+".yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", name, err)
	}
	log := filepath.Join(o.Cluster.Dir, name+".log")
	return &Program{
		Log: log, Metrics: "http://" + metrics.Addr(), Health: "http://" + health.Addr(), cluster: o.Cluster,
		command: clusters.Command{
			Name: o.Cluster.Name + "/" + name, Path: o.Binary, Log: log,
			Args: []string{"--config=" + file, "--kubeconfig=" + kubeconfig},
		},
	}, nil
}

// Start starts the program, which must not be running, and returns when it says that it is ready.
func (p *Program) Start(ctx context.Context) error {
	if err := p.Launch(); err != nil {
		return err
	}
	if err := p.WaitReady(ctx); err != nil {
		return errors.Join(err, p.Stop())
	}
	return nil
}

// Launch starts the program, which must not be running, and returns at once.
func (p *Program) Launch() error {
	process, err := clusters.StartProcess(p.command)
	if err != nil {
		return err
	}
	p.process = process
	return nil
}

// WaitReady returns when the program answers on its readiness endpoint, for at most a minute.
func (p *Program) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if answers(ctx, p.Health+"/readyz") {
			return nil
		}
		select {
		case <-p.process.Done():
			return fmt.Errorf("%s ended before it was ready:\n%s", p.command.Name, p.process.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.command.Name, ctx.Err(), p.process.LogTail())
		case <-ticker.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// Kill ends the program as a crash would, with SIGKILL.
func (p *Program) Kill() error { return p.process.Kill() }

// Stop asks the program to end and kills it if it does not within the grace.
func (p *Program) Stop() error {
	if p.process == nil {
		return nil
	}
	return p.process.Stop(stopGrace)
}

// Ended tells whether the program has ended, and with what error.
func (p *Program) Ended() (bool, error) { return p.process.Exited() }

// LogTail is the end of the program's output.
func (p *Program) LogTail() string { return p.process.LogTail() }
