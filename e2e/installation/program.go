package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"switchyard.dev/e2e/clusters"
)

// Namespace is where the programs live in their clusters, with the kubeconfig Secrets on the hub.
const Namespace = "kueue-system"

const (
	readyTimeout = time.Minute
	stopGrace    = 15 * time.Second
	restartDelay = time.Second
	pollEvery    = 50 * time.Millisecond
)

// Program is one Switchyard program, the hub's or a worker's, beside its cluster. Its ports stay the same over restarts.
type Program struct {
	// Log is the file that collects the program's output over all its lives.
	Log string
	// Metrics and Health are base URLs.
	Metrics, Health string
	// APIPort is that of the program's own API server, on 127.0.0.1: see Aggregate.
	APIPort int

	// isHub tells that it is a hub's.
	isHub   bool
	command clusters.Command

	mu      sync.Mutex
	process *clusters.Process
	// wanted is closed when the program is meant to end.
	wanted chan struct{}
	// ended and endErr tell of its last end that was not meant.
	ended  bool
	endErr error
}

// Options say which program to run beside a cluster.
type Options struct {
	// Cluster it serves; CRDs and webhooks are installed there.
	Cluster *clusters.Cluster
	// Binary is the program's path; its base name ("hub", "worker") names its user.
	Binary string
	// Name names its files, its log among them; empty means the binary's base name.
	Name string
	// Server is where the program finds the API server, "host:port"; empty means the API server's own address.
	Server string
	// Configuration is merged over the defaults of this package, field by field: a config.kueue.x-k8s.io Configuration.
	Configuration map[string]any
}

// Start installs Switchyard's CRDs, starts the program, and installs its webhooks once it is ready.
func Start(ctx context.Context, o Options) (*Program, error) {
	if err := installAPI(ctx, o.Cluster); err != nil {
		return nil, err
	}
	if err := grant(ctx, o.Cluster, filepath.Base(o.Binary)); err != nil {
		return nil, err
	}
	p, err := Prepare(o)
	if err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if err := installWebhooks(ctx, o.Cluster, frameworksOf(o.Configuration)); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Prepare writes a program's kubeconfig and configuration, for another one beside a cluster whose API is installed
// already: a replica, or one that takes the first one's place. The API server calls the webhooks at one port only, which
// a replica must not claim too.
func Prepare(o Options) (*Program, error) {
	name := cmp.Or(o.Name, filepath.Base(o.Binary))
	kubeconfig, err := writeAccess(o, name)
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
	visibility, err := clusters.ReservePort()
	if err != nil {
		return nil, err
	}
	configuration := merge(configurationOf(o.Cluster, metrics, health, visibility), o.Configuration)
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
		Log: log, Metrics: "http://" + metrics.Addr(), Health: "http://" + health.Addr(), APIPort: visibility.Number,
		isHub: filepath.Base(o.Binary) == "hub",
		command: clusters.Command{
			Name: o.Cluster.Name + "/" + name, Path: o.Binary, Log: log,
			Args: []string{"--config=" + file, "--kubeconfig=" + kubeconfig},
		},
	}, nil
}

// writeAccess writes a kubeconfig of the program's user and returns its path.
func writeAccess(o Options, name string) (string, error) {
	kubeconfig, err := o.Cluster.UserKubeconfig(userOf(filepath.Base(o.Binary)))
	if err == nil && o.Server != "" {
		kubeconfig, err = clusters.ThroughProxy(kubeconfig, o.Server)
	}
	if err != nil {
		return "", err
	}
	file := filepath.Join(o.Cluster.Dir, name+".kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	return file, nil
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

// Launch starts the program, which must not be running, and returns at once. A program that ends by itself, as one does
// whose API server was gone for longer than its lease, is started again after a second, as a kubelet would.
func (p *Program) Launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	process, err := clusters.StartProcess(p.command)
	if err != nil {
		return err
	}
	p.process, p.wanted = process, make(chan struct{})
	go p.supervise(process, p.wanted)
	return nil
}

func (p *Program) supervise(process *clusters.Process, wanted <-chan struct{}) {
	for {
		select {
		case <-wanted:
			return
		case <-process.Done():
		}
		select {
		case <-wanted:
			return
		case <-time.After(restartDelay):
		}
		next, err := p.restart(wanted)
		if err != nil || next == nil {
			return
		}
		process = next
	}
}

// restart starts the program again, unless it was meant to end in the meantime.
func (p *Program) restart(wanted <-chan struct{}) (*clusters.Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-wanted:
		return nil, nil
	default:
	}
	p.ended = true
	_, p.endErr = p.process.Exited()
	process, err := clusters.StartProcess(p.command)
	if err == nil {
		p.process = process
	}
	return process, err
}

// Ended tells whether the program has ever ended by itself, and with what error it did so last.
func (p *Program) Ended() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended, p.endErr
}

// endSupervision ends supervision and returns the process that runs, or ran last; nil before the first start.
func (p *Program) endSupervision() *clusters.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wanted != nil {
		close(p.wanted)
		p.wanted = nil
	}
	return p.process
}

func (p *Program) current() *clusters.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// Running tells whether the program is meant to run: it was started, and neither stopped nor killed since.
func (p *Program) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted != nil
}

// WaitReady returns when the program answers on its readiness endpoint, for at most a minute.
func (p *Program) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	first := p.current()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if p.Ready(ctx) {
			return nil
		}
		select {
		case <-first.Done():
			return fmt.Errorf("%s ended before it was ready:\n%s", p.command.Name, first.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.command.Name, ctx.Err(), first.LogTail())
		case <-ticker.C:
		}
	}
}

// Ready tells whether the program answers on its readiness endpoint now.
func (p *Program) Ready(ctx context.Context) bool { return isAnswering(ctx, p.Health+"/readyz") }

func isAnswering(ctx context.Context, url string) bool {
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

// Kill ends the program as a crash would, with SIGKILL, and does not start it again.
func (p *Program) Kill() error { return p.endSupervision().Kill() }

// Pause stops the program in its tracks (SIGSTOP), as a machine does that hangs, until Resume.
func (p *Program) Pause() error { return p.current().Signal(syscall.SIGSTOP) }

// Resume lets a paused program go on.
func (p *Program) Resume() error { return p.current().Signal(syscall.SIGCONT) }

// Stop asks the program to end and kills it if it does not within the grace.
func (p *Program) Stop() error {
	process := p.endSupervision()
	if process == nil {
		return nil
	}
	return process.Stop(stopGrace)
}

// LogTail is the end of the program's output.
func (p *Program) LogTail() string { return p.current().LogTail() }
