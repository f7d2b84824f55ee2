// Package resource has the commands of one verb for several kinds (list, get, describe, create, delete, stop), as kueuectl and
// kubectl have them. Kinds and flags that it does not know are kubectl's.
package resource

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/cluster"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// NewGet shows workloads and queues by name. Other kinds are kubectl's.
func NewGet(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "get {workload|localqueue|clusterqueue|multikueuecluster} [NAME...]", Short: "Show workloads and queues, with the clusters they are on",
		Long: `Show workloads, queues and worker clusters by name, or all of them, as tables with the cluster column. Other kinds, and flags
that only kubectl has (such as --watch), are passed to kubectl.`,
		Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
	}
	c.RunE = ownOrKubectl(a, "get", []cli.ResourceKind{cli.KindWorkload, cli.KindLocalQueue, cli.KindClusterQueue, cli.KindWorkerCluster},
		func() *cobra.Command { return newOwnGet(a) })
	return c
}

// newOwnGet is get of the kinds that switchctl shows by itself.
func newOwnGet(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "get", Args: cobra.MinimumNArgs(1)}
	s := newSelection(c, true)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.Validate(); err != nil {
			return err
		}
		return runGet(cmd.Context(), a, s, cli.LookupKind(args[0]), args[1:])
	}
	return c
}

// runGet shows all objects of a kind, or those of the names. A name that does not exist is an error, as with kubectl.
func runGet(ctx context.Context, a *cli.App, s *selection, kind cli.ResourceKind, names []string) error {
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	if kind == cli.KindClusterQueue || kind == cli.KindWorkerCluster {
		s.allNamespaces = true
	}
	options, namespace, err := listOptions(a, s)
	if err != nil {
		return err
	}
	if len(names) > 0 && (s.label != "" || s.field != "" || s.allNamespaces && namespacedKind(kind)) {
		return exit.Usagef("names cannot be given together with --selector, --field-selector or --all-namespaces")
	}
	s.Single = len(names) == 1
	switch kind {
	case cli.KindLocalQueue:
		found, err := fetchTable(ctx, hub, &kueue.LocalQueueList{}, func(l *kueue.LocalQueueList) *[]kueue.LocalQueue { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		return showLocalQueues(ctx, a, hub, s.Output, found, namespace)
	case cli.KindClusterQueue:
		found, err := fetchTable(ctx, hub, &kueue.ClusterQueueList{}, func(l *kueue.ClusterQueueList) *[]kueue.ClusterQueue { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		return showClusterQueues(ctx, a, hub, s.Output, found)
	case cli.KindWorkerCluster:
		f, err := cluster.ReadFleet(ctx, a, hub)
		if err != nil {
			return err
		}
		if f.Clusters, err = withNames(f.Clusters, names); err != nil {
			return err
		}
		return a.PrintObjects(s.Output, cli.Printable{Table: show.Clusters(f, a.Now()), Objects: cli.ObjectPointers(f.Clusters)})
	default:
		found, err := fetchTable(ctx, hub, &kueue.WorkloadList{}, func(l *kueue.WorkloadList) *[]kueue.Workload { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		queues, err := readQueues(ctx, hub, namespace)
		if err != nil {
			return err
		}
		return showWorkloads(ctx, a, hub, s.Output, found, queues, namespace)
	}
}

func namespacedKind(kind cli.ResourceKind) bool {
	return kind == cli.KindWorkload || kind == cli.KindLocalQueue
}

// fetchTable lists, and keeps the named objects, all of which must be there.
func fetchTable[L client.ObjectList, T any, P interface {
	*T
	client.Object
}](ctx context.Context, hub *kubeclient.Client, list L, items func(L) *[]T, names []string, options []client.ListOption) ([]T, error) {
	if err := kubeclient.ListObjects(ctx, hub, list, options...); err != nil {
		return nil, err
	}
	return withNames[T, P](*items(list), names)
}

// withNames keeps the objects of those names, in their order; all for none.
func withNames[T any, P interface {
	*T
	client.Object
}](items []T, names []string) ([]T, error) {
	if len(names) == 0 {
		return items, nil
	}
	var kept []T
	for _, name := range names {
		at := slices.IndexFunc(items, func(item T) bool { return P(&item).GetName() == name })
		if at < 0 {
			return nil, exit.NotFoundf("%s not found: see \"list\"", fmt.Sprintf("%q", name))
		}
		kept = append(kept, items[at])
	}
	return kept, nil
}
