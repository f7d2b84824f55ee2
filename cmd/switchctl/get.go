package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/show"
)

// newGet shows workloads and queues by name. Other kinds are kubectl's.
func (a *app) newGet() *cobra.Command {
	c := &cobra.Command{
		Use: "get {workload|localqueue|clusterqueue|multikueuecluster} [NAME...]", Short: "Show workloads and queues, with the clusters they are on",
		Long: `Show workloads, queues and worker clusters by name, or all of them, as tables with the cluster column. Other kinds, and flags
that only kubectl has (such as --watch), are passed to kubectl.`,
		Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
	}
	c.RunE = a.ownOrKubectl("get", []resourceKind{kindWorkload, kindLocalQueue, kindClusterQueue, kindWorkerCluster}, a.getNative)
	return c
}

func (a *app) getNative() *cobra.Command {
	c := &cobra.Command{Use: "get", Args: cobra.MinimumNArgs(1)}
	s := newSelection(c, true)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.validate(); err != nil {
			return err
		}
		return a.runGet(cmd.Context(), s, lookupKind(args[0]), args[1:])
	}
	return c
}

func (a *app) runGet(ctx context.Context, s *selection, kind resourceKind, names []string) error {
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	if kind == kindClusterQueue || kind == kindWorkerCluster {
		s.allNamespaces = true
	}
	options, namespace, err := a.listOptions(s)
	if err != nil {
		return err
	}
	if len(names) > 0 && (s.label != "" || s.field != "" || s.allNamespaces && namespacedKind(kind)) {
		return usagef("names cannot be given together with --selector, --field-selector or --all-namespaces")
	}
	s.single = len(names) == 1
	switch kind {
	case kindLocalQueue:
		found, err := fetchTable(ctx, hub, &kueue.LocalQueueList{}, func(l *kueue.LocalQueueList) *[]kueue.LocalQueue { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		return a.showLocalQueues(ctx, hub, s.output, found, namespace)
	case kindClusterQueue:
		found, err := fetchTable(ctx, hub, &kueue.ClusterQueueList{}, func(l *kueue.ClusterQueueList) *[]kueue.ClusterQueue { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		return a.showClusterQueues(ctx, hub, s.output, found)
	case kindWorkerCluster:
		f, err := a.readFleet(ctx, hub)
		if err != nil {
			return err
		}
		if f.Clusters, err = withNames(f.Clusters, names); err != nil {
			return err
		}
		return a.printObjects(s.output, printable{table: show.Clusters(f, a.now()), objects: objectPointers(f.Clusters)})
	default:
		found, err := fetchTable(ctx, hub, &kueue.WorkloadList{}, func(l *kueue.WorkloadList) *[]kueue.Workload { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		queues, err := readQueues(ctx, hub, namespace)
		if err != nil {
			return err
		}
		return a.showWorkloads(ctx, hub, s.output, found, queues, namespace)
	}
}

func namespacedKind(kind resourceKind) bool { return kind == kindWorkload || kind == kindLocalQueue }

// fetchTable lists, and keeps the named objects, all of which must be there.
func fetchTable[L client.ObjectList, T any, P interface {
	*T
	client.Object
}](ctx context.Context, hub *kubeClient, list L, items func(L) *[]T, names []string, options []client.ListOption) ([]T, error) {
	if err := listObjects(ctx, hub, list, options...); err != nil {
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
			return nil, notFoundf("%s not found: see \"list\"", fmt.Sprintf("%q", name))
		}
		kept = append(kept, items[at])
	}
	return kept, nil
}
