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
	c.RunE = a.do(func(ctx context.Context, _ []string) error { return a.clusterList(ctx, o) })
	return c
}

func (a *app) clusterList(ctx context.Context, o *output) error {
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	f, err := a.fleet(ctx, hub)
	if err != nil {
		return err
	}
	if len(f.Clusters) == 0 && o.tabular() {
		a.none("")
		return nil
	}
	if o.format() == "wide" {
		f.Tokens = a.tokens(ctx, hub, f.Clusters)
	}
	return a.print(o, printed{table: show.Clusters(f, a.now()), objects: pointers(f.Clusters)})
}

// fleet reads what the hub knows of its workers.
func (a *app) fleet(ctx context.Context, hub *site) (show.Fleet, error) {
	var clusters kueue.MultiKueueClusterList
	var configs kueue.MultiKueueConfigList
	var workloads kueue.WorkloadList
	if err := listAll(ctx, hub, &clusters); err != nil {
		return show.Fleet{}, err
	}
	if err := listAll(ctx, hub, &configs); err != nil {
		return show.Fleet{}, err
	}
	if err := listAll(ctx, hub, &workloads); err != nil {
		return show.Fleet{}, err
	}
	return show.Fleet{Clusters: clusters.Items, Configs: configs.Items, Workloads: workloads.Items}, nil
}

// tokens is until when the hub's tokens are good, where that can be seen: the caller may not be allowed to read Secrets.
func (a *app) tokens(ctx context.Context, hub *site, clusters []kueue.MultiKueueCluster) map[string]time.Time {
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
