package main

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
	"switchyard.dev/cmd/switchctl/show"
)

// reportTimeout keeps a cluster that does not answer from holding up the others.
const reportTimeout = 3 * time.Second

// rests is how many times as long as a look took is waited at least before the next: on a large hub a look reads many
// workloads, and nobody's curiosity shall be its main load.
const rests = 5

// wipe moves to the terminal's upper left corner and clears it.
const wipe = "\x1b[H\x1b[2J"

func (a *app) newTop() *cobra.Command {
	c := &cobra.Command{
		Use: "top", Short: "Watch the fleet: clusters, their capacity, and what runs and waits",
		Long: `Watch the fleet: the worker clusters with their connections, jobs and offers, what each has free of every flavor, and the
hub's ClusterQueues. Capacity is read by the hub's kubeconfig Secrets, from workers that run Switchyard. It is shown once with
--once, or if the output is not a terminal.`,
		Args: cobra.NoArgs,
	}
	once := c.Flags().Bool("once", false, "Show it once, for scripts")
	every := c.Flags().Duration("interval", 2*time.Second, "How often to look, at most")
	c.RunE = a.do(func(ctx context.Context, _ []string) error {
		hub, err := a.sites.hub()
		if err != nil {
			return err
		}
		workers := &connections{known: map[string]*site{}}
		file, isFile := a.Out.(*os.File)
		if *once || !isFile || !term.IsTerminal(int(file.Fd())) {
			text, err := a.overview(ctx, hub, workers)
			_, _ = fmt.Fprint(a.Out, text)
			return err
		}
		return a.watch(ctx, hub, workers, *every)
	})
	return c
}

// watch shows the fleet again and again, until the user has seen enough.
func (a *app) watch(ctx context.Context, hub *site, workers *connections, every time.Duration) error {
	for ctx.Err() == nil {
		began := time.Now()
		text, err := a.overview(ctx, hub, workers)
		if err != nil && ctx.Err() == nil {
			return err
		}
		_, _ = fmt.Fprint(a.Out, wipe+text)
		_ = a.pause(ctx, max(every, rests*time.Since(began))) // ends early only with the loop
	}
	return nil
}

// connections are those to workers, kept from one look to the next.
type connections struct {
	mu    sync.Mutex
	known map[string]*site
}

func (a *app) overview(ctx context.Context, hub *site, workers *connections) (string, error) {
	f, err := a.fleet(ctx, hub)
	if err != nil {
		return "", err
	}
	var queues kueue.ClusterQueueList
	if err := listAll(ctx, hub, &queues); err != nil {
		return "", err
	}
	return show.Top(f, a.capacities(ctx, hub, workers, f.Clusters), queues.Items, a.now()), nil
}

// capacities asks all workers at once.
func (a *app) capacities(ctx context.Context, hub *site, workers *connections, clusters []kueue.MultiKueueCluster) map[string]show.Capacity {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	found := map[string]show.Capacity{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range clusters {
		all.Go(func() {
			answer := a.capacity(ctx, hub, workers, &clusters[i])
			mu.Lock()
			defer mu.Unlock()
			found[clusters[i].Name] = answer
		})
	}
	all.Wait()
	return found
}

// capacity is what a worker reports, or why that is not known.
func (a *app) capacity(ctx context.Context, hub *site, workers *connections, cluster *kueue.MultiKueueCluster) show.Capacity {
	worker, err := workers.to(cluster.Name, func() (*site, error) {
		raw, err := a.credentialsOf(ctx, hub, cluster)
		if err != nil {
			return nil, err
		}
		return a.sites.credentials(raw)
	})
	if err != nil {
		return show.Capacity{Unknown: err.Error()}
	}
	var reports switchyard.CapacityReportList // the hub's account may list them, and get none
	if err := worker.List(ctx, &reports); err != nil {
		workers.drop(cluster.Name)
		return show.Capacity{Unknown: err.Error()}
	}
	for i := range reports.Items {
		if reports.Items[i].Name == switchyard.CapacityReportName {
			return show.Capacity{Report: &reports.Items[i]}
		}
	}
	return show.Capacity{Unknown: "no CapacityReport"}
}

func (c *connections) to(name string, connect func() (*site, error)) (*site, error) {
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

// drop forgets a connection that failed: the credentials may have been rotated.
func (c *connections) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
}
