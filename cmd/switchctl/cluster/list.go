package cluster

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// newList is "cluster list".
func newList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the worker clusters of the hub",
		Long: `List the worker clusters: whether the hub is connected, what people have said of them (Cordoned, Draining, Gone), how many
jobs are bound to each and how many are offered. "-o wide" adds how long the hub's token is good, and why a cluster is not
connected.`,
		Example: "  switchctl cluster list -o wide", Args: cobra.NoArgs,
	}
	o := cli.NewOutput(c)
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error { return runList(ctx, a, o) })
	return c
}

// runList prints the worker clusters. What the user may not read, such as Secrets, is left out of the table.
func runList(ctx context.Context, a *cli.App, o *cli.Output) error {
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	f, err := ReadFleet(ctx, a, hub)
	if err != nil {
		return err
	}
	if len(f.Clusters) == 0 && o.Tabular() {
		a.PrintNothingFound("")
		return nil
	}
	if o.Format() == "wide" {
		f.Tokens = readTokenExpiries(ctx, a, hub, f.Clusters)
	}
	return a.PrintObjects(o, cli.Printable{Table: show.Clusters(f, a.Now()), Objects: cli.ObjectPointers(f.Clusters)})
}

// ReadFleet reads what the hub knows of its workers.
func ReadFleet(ctx context.Context, a *cli.App, hub *kubeclient.Client) (show.Fleet, error) {
	var clusters kueue.MultiKueueClusterList
	var configs kueue.MultiKueueConfigList
	var workloads kueue.WorkloadList
	if err := kubeclient.ListObjects(ctx, hub, &clusters); err != nil {
		return show.Fleet{}, err
	}
	if err := kubeclient.ListObjects(ctx, hub, &configs); err != nil {
		return show.Fleet{}, err
	}
	if err := kubeclient.ListObjects(ctx, hub, &workloads); err != nil {
		return show.Fleet{}, err
	}
	return show.Fleet{Clusters: clusters.Items, Configs: configs.Items, Workloads: workloads.Items}, nil
}

// readTokenExpiries is until when the hub's tokens are good, where that can be seen: the caller may not be allowed to read Secrets.
func readTokenExpiries(ctx context.Context, a *cli.App, hub *kubeclient.Client, clusters []kueue.MultiKueueCluster) map[string]time.Time {
	found := map[string]time.Time{}
	for i := range clusters {
		raw, err := a.CredentialsOf(ctx, hub, &clusters[i])
		if err != nil {
			continue
		}
		if until, ok := tokenExpiry(raw); ok {
			found[clusters[i].Name] = until
		}
	}
	return found
}
