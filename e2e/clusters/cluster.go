// Package clusters starts real Kubernetes control planes as child processes on loopback ports, for
// tests and for the sandbox: etcd, kube-apiserver with RBAC and an audit log of writes, and as asked
// for kube-controller-manager, kube-scheduler, kwok in place of kubelets, and operators of kinds of jobs.
// No process outlives the one that started it, however that one ends (on Linux).
//
//	c, err := clusters.Start(ctx, clusters.Options{
//		Name:  "w1",
//		Nodes: []clusters.NodePool{{Name: "h100", Count: 2, GPUClass: "H100", GPUs: 8}},
//	})
//	defer c.Stop()
//	client, err := kubernetes.NewForConfig(c.Config)
package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// Cluster is a running cluster. Methods that start, stop or pause something must not be called at the same time as
// others; the rest may.
type Cluster struct {
	// Name is Options.Name.
	Name string
	// Config is an administrator's, without client-side rate limits. Copy it before changing it.
	Config *rest.Config
	// Webhooks is where this cluster's API server expects the webhooks of the program under test;
	// see InstallWebhooks and InstallCRDs.
	Webhooks WebhookServer

	runDirectory
	auditLog
	components
	options  Options
	ca       *authority
	etcdPort Port
	peerPort Port
	apiPort  Port
	// kubeletPort is that of all nodes.
	kubeletPort Port
	others      []Port
	apiserver   *Process
	backups     int // how many were made
}

// components are the processes of a cluster but for the API server, which is stopped and started by itself.
type components struct {
	// processes are in the order in which they were started: etcd first.
	processes []*Process
	// manager is kube-controller-manager, one of the processes; nil if it does not run.
	manager *Process
}

// restart starts a component that has ended once more.
func (c *components) restart(i int) error {
	process, err := StartProcess(c.processes[i].command)
	if err != nil {
		return err
	}
	if c.manager == c.processes[i] {
		c.manager = process
	}
	c.processes[i] = process
	return nil
}

// signalManager sends a signal to kube-controller-manager.
func (c *components) signalManager(sig syscall.Signal) error {
	if c.manager == nil {
		return errors.New("the cluster has no kube-controller-manager")
	}
	return c.manager.Signal(sig)
}

// PauseControllers stops kube-controller-manager in its tracks (SIGSTOP): no Job gets a pod or loses one, and nothing that was removed
// takes along what it owned, until ResumeControllers.
func (c *components) PauseControllers() error { return c.signalManager(syscall.SIGSTOP) }

// ResumeControllers lets a paused kube-controller-manager go on.
func (c *components) ResumeControllers() error { return c.signalManager(syscall.SIGCONT) }

// Start starts a cluster and returns when its API server is ready, its nodes exist and, where asked
// for, the operators of kinds of jobs and their webhooks answer. After an error nothing of it is left running; the error ends with
// the tail of the log of the component that failed.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	if o.Binaries == (Binaries{}) {
		found, err := FindBinaries(ctx, os.Stderr)
		if err != nil {
			return nil, err
		}
		o.Binaries = found
	}
	c := &Cluster{Name: o.Name, options: o}
	if err := c.start(ctx); err != nil {
		// The logs' tails are in the error: nothing is lost with the directory.
		return nil, errors.Join(fmt.Errorf("starting cluster %s: %w", o.Name, err), c.Stop())
	}
	return c, nil
}

// StartAll starts clusters side by side and returns them in the order of the options. If one fails
// all are stopped.
func StartAll(ctx context.Context, all ...Options) ([]*Cluster, error) {
	started := make([]*Cluster, len(all))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, o := range all {
		group.Go(func() error {
			c, err := Start(groupCtx, o)
			started[i] = c
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, StopAll(started...))
	}
	return started, nil
}

// StopAll stops clusters; nil ones are skipped.
func StopAll(all ...*Cluster) error {
	var result *multierror.Error
	for _, c := range all {
		if c != nil {
			result = multierror.Append(result, c.Stop())
		}
	}
	return result.ErrorOrNil()
}

func (c *Cluster) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		c.prepare,
		c.startEtcd,
		c.StartAPIServer,
		c.waitForDefaultNamespace,
		c.startControllers,
		c.startNodes,
		c.startOperators,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes everything that exists before the first process: directory, ports, certificates.
func (c *Cluster) prepare(context.Context) error {
	if err := c.make(c.options.Dir, c.Name); err != nil {
		return err
	}
	c.path = c.file("audit.log")
	for _, port := range []*Port{&c.etcdPort, &c.peerPort, &c.apiPort, &c.kubeletPort} {
		var err error
		if *port, err = c.reserve(); err != nil {
			return err
		}
	}
	var err error
	if c.ca, err = newAuthority("switchyard-" + c.Name); err != nil {
		return err
	}
	if err := c.writeAPIServerFiles(); err != nil {
		return err
	}
	if c.Webhooks, err = c.newWebhookServer("program"); err != nil {
		return err
	}
	return c.makeAdmin()
}

func (c *Cluster) reserve() (Port, error) {
	port, err := ReservePort()
	if err == nil {
		c.others = append(c.others, port)
	}
	return port, err
}

// restarts is how often a component is started again that ends by itself. kwok makes the environments of its stages when it sees the
// first objects, without a lock: where it finds nodes and pods when it starts, as after a restore, it may end with "concurrent map
// writes".
var restarts = map[string]int{"kwok": 3}

// run starts a component that lives until Stop.
func (c *Cluster) run(name string, args ...string) (*Process, error) {
	return c.runFrom(c.options.Binaries, Command{
		Name: name,
		Args: args,
		Env:  []string{"KWOK_WORKDIR=" + c.Dir},

		Restarts: restarts[name],
	})
}

// runFrom starts a component by its program's name, which its log has too.
func (c *Cluster) runFrom(binaries Binaries, command Command) (*Process, error) {
	command.Path = binaries.Program(command.Name)
	command.Log = c.file(command.Name + ".log")
	command.Name = c.Name + "/" + command.Name
	process, err := StartProcess(command)
	if err == nil {
		c.processes = append(c.processes, process)
	}
	return process, err
}

// Stop ends every process and removes the directory unless Options.Dir was given. A component that had
// ended on its own is an error.
func (c *Cluster) Stop() error {
	var result *multierror.Error
	all := c.processes
	if c.apiserver != nil {
		all = append(slices.Clone(all), c.apiserver)
	}
	for _, process := range all {
		if exited, _ := process.Exited(); exited {
			result = multierror.Append(result, fmt.Errorf("%s ended before it was stopped: %s\n%s", process.name, process.exit(), process.LogTail()))
		}
	}
	// Nothing here is worth a graceful end: the data goes with the directory, and leases are off.
	for _, process := range slices.Backward(all) {
		result = multierror.Append(result, process.Kill())
	}
	for _, port := range c.others {
		result = multierror.Append(result, port.Release())
	}
	c.processes, c.apiserver, c.others = nil, nil, nil
	result = multierror.Append(result, c.remove())
	return result.ErrorOrNil()
}

// waitFor polls until the check succeeds. It fails as soon as the process ends, or with the check's
// last error when the context does, and then shows the process' log.
func waitFor(ctx context.Context, process *Process, what string, check func(context.Context) error) error {
	const interval = 50 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-process.Done():
			return fmt.Errorf("%s ended while waiting for %s: %s; end of its log:\n%s", process.name, what, process.exit(), indent(process.LogTail()))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s of %s: %w (%w); end of its log:\n%s", what, process.name, ctx.Err(), last, indent(process.LogTail()))
		}
	}
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// PIDs are the process ids of all that runs now.
func (c *Cluster) PIDs() []int {
	var pids []int
	for _, process := range c.processes {
		pids = append(pids, process.PID())
	}
	if c.apiserver != nil {
		pids = append(pids, c.apiserver.PID())
	}
	return pids
}
