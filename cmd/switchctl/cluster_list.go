package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/show"
)

func (a *app) newClusterList() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the worker clusters of the hub",
		Long: `List the worker clusters: whether the hub is connected, what people have said of them (Cordoned, Draining, Gone), how many
jobs are bound to each and how many are offered. "-o wide" adds how long the hub's token is good, and why a cluster is not
connected.`,
		Example: "  switchctl cluster list -o wide", Args: cobra.NoArgs,
	}
	o := newOutput(c)
	c.RunE = a.runE(func(ctx context.Context, _ []string) error { return a.runClusterList(ctx, o) })
	return c
}

func (a *app) runClusterList(ctx context.Context, o *output) error {
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	f, err := a.readFleet(ctx, hub)
	if err != nil {
		return err
	}
	if len(f.Clusters) == 0 && o.tabular() {
		a.printNothingFound("")
		return nil
	}
	if o.format() == "wide" {
		f.Tokens = a.readTokenExpiries(ctx, hub, f.Clusters)
	}
	return a.printObjects(o, printable{table: show.Clusters(f, a.now()), objects: objectPointers(f.Clusters)})
}

// readFleet reads what the hub knows of its workers.
func (a *app) readFleet(ctx context.Context, hub *kubeClient) (show.Fleet, error) {
	var clusters kueue.MultiKueueClusterList
	var configs kueue.MultiKueueConfigList
	var workloads kueue.WorkloadList
	if err := listObjects(ctx, hub, &clusters); err != nil {
		return show.Fleet{}, err
	}
	if err := listObjects(ctx, hub, &configs); err != nil {
		return show.Fleet{}, err
	}
	if err := listObjects(ctx, hub, &workloads); err != nil {
		return show.Fleet{}, err
	}
	return show.Fleet{Clusters: clusters.Items, Configs: configs.Items, Workloads: workloads.Items}, nil
}

// readTokenExpiries is until when the hub's tokens are good, where that can be seen: the caller may not be allowed to read Secrets.
func (a *app) readTokenExpiries(ctx context.Context, hub *kubeClient, clusters []kueue.MultiKueueCluster) map[string]time.Time {
	found := map[string]time.Time{}
	for i := range clusters {
		raw, err := a.credentialsOf(ctx, hub, &clusters[i])
		if err != nil {
			continue
		}
		if until, ok := tokenExpiry(raw); ok {
			found[clusters[i].Name] = until
		}
	}
	return found
}
