// Package top is the command that watches the fleet.
package top

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/cluster"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// reportTimeout keeps a cluster that does not answer from holding up the others.
const reportTimeout = 3 * time.Second

// pauseBetween is the shortest pause before the next read, as a multiple of the time that the last one took. On a large hub a
// read covers many workloads, and it must not become the hub's main load.
const pauseBetween = 5

// clearScreen moves to the terminal's upper left corner and clears it.
const clearScreen = "\x1b[H\x1b[2J"

// NewCommand is the command top.
func NewCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "top", Short: "Watch the fleet: clusters, their capacity, and what runs and waits",
		Long: `Watch the fleet: the worker clusters with their connections, jobs and offers, what each has free of every flavor, and the
hub's ClusterQueues. Capacity is read by the hub's kubeconfig Secrets, from workers that run Switchyard. It is shown once with
--once, or if the output is not a terminal.`,
		Args: cobra.NoArgs,
	}
	once := c.Flags().Bool("once", false, "Show it once, for scripts")
	every := c.Flags().Duration("interval", 2*time.Second, "How often to look, at most")
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error {
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		file, isFile := a.Out.(*os.File)
		if *once || !isFile || !term.IsTerminal(int(file.Fd())) {
			text, err := render(ctx, a, hub, newWorkerConnections())
			_, _ = fmt.Fprint(a.Out, text)
			return err
		}
		return Watch(ctx, a, hub, *every)
	})
	return c
}

// Watch shows the fleet again and again, until the user has seen enough.
func Watch(ctx context.Context, a *cli.App, hub *kubeclient.Client, every time.Duration) error {
	workers := newWorkerConnections()
	for ctx.Err() == nil {
		began := time.Now()
		text, err := render(ctx, a, hub, workers)
		if err != nil && ctx.Err() == nil {
			return err
		}
		_, _ = fmt.Fprint(a.Out, clearScreen+text)
		_ = a.Sleep(ctx, max(every, pauseBetween*time.Since(began))) // ends early only with the loop
	}
	return nil
}

// workerConnections are those to workers, kept from one look to the next.
type workerConnections struct {
	mu    sync.Mutex
	known map[string]*kubeclient.Client
}

// newWorkerConnections has none yet: each worker is connected to when it is first read.
func newWorkerConnections() *workerConnections {
	return &workerConnections{known: map[string]*kubeclient.Client{}}
}

// render is one look at the fleet, as text. A worker that cannot be read has the reason in its row; it fails only if the
// hub cannot be read.
func render(ctx context.Context, a *cli.App, hub *kubeclient.Client, workers *workerConnections) (string, error) {
	f, err := cluster.ReadFleet(ctx, a, hub)
	if err != nil {
		return "", err
	}
	var queues kueue.ClusterQueueList
	if err := kubeclient.ListObjects(ctx, hub, &queues); err != nil {
		return "", err
	}
	return show.Top(f, readCapacities(ctx, a, hub, workers, f.Clusters), queues.Items, a.Now()), nil
}

// readCapacities asks all workers at once.
func readCapacities(ctx context.Context, a *cli.App, hub *kubeclient.Client, workers *workerConnections, clusters []kueue.MultiKueueCluster) map[string]show.Capacity {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	found := map[string]show.Capacity{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range clusters {
		all.Go(func() {
			answer := readCapacity(ctx, a, hub, workers, &clusters[i])
			mu.Lock()
			defer mu.Unlock()
			found[clusters[i].Name] = answer
		})
	}
	all.Wait()
	return found
}

// readCapacity is what a worker reports, or why that is not known.
func readCapacity(ctx context.Context, a *cli.App, hub *kubeclient.Client, workers *workerConnections, cluster *kueue.MultiKueueCluster) show.Capacity {
	worker, err := workers.get(cluster.Name, func() (*kubeclient.Client, error) {
		raw, err := a.CredentialsOf(ctx, hub, cluster)
		if err != nil {
			return nil, err
		}
		return a.Clusters.Credentials(raw)
	})
	if err != nil {
		return show.Capacity{Unknown: err.Error()}
	}
	var reports switchyard.CapacityReportList // the hub's account may list them, and get none
	if err := worker.List(ctx, &reports); err != nil {
		workers.remove(cluster.Name)
		return show.Capacity{Unknown: err.Error()}
	}
	for i := range reports.Items {
		if reports.Items[i].Name == switchyard.CapacityReportName {
			return show.Capacity{Report: &reports.Items[i]}
		}
	}
	return show.Capacity{Unknown: "no CapacityReport"}
}

// get returns the connection to a worker, made by connect if there is none yet. Several workers are read at the same time.
func (c *workerConnections) get(name string, connect func() (*kubeclient.Client, error)) (*kubeclient.Client, error) {
	c.mu.Lock()
	known := c.known[name]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := connect()
	if err == nil {
		c.mu.Lock()
		c.known[name] = made
		c.mu.Unlock()
	}
	return made, err
}

// remove forgets a connection that failed: the credentials may have been rotated.
func (c *workerConnections) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
}
