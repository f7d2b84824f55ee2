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
	c.RunE = a.orKubectl("get", []ours{ourWorkload, ourLocalQueue, ourClusterQueue, ourWorkerCluster}, a.nativeGet)
	return c
}

func (a *app) nativeGet() *cobra.Command {
	c := &cobra.Command{Use: "get", Args: cobra.MinimumNArgs(1)}
	s := newSelection(c, true)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.validate(); err != nil {
			return err
		}
		return a.get(cmd.Context(), s, kindWord(args[0]), args[1:])
	}
	return c
}

func (a *app) get(ctx context.Context, s *selection, kind ours, names []string) error {
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	if kind == ourClusterQueue || kind == ourWorkerCluster {
		s.allNamespaces = true
	}
	options, namespace, err := a.options(s)
	if err != nil {
		return err
	}
	if len(names) > 0 && (s.label != "" || s.field != "" || s.allNamespaces && namespacedKind(kind)) {
		return usagef("names cannot be given together with --selector, --field-selector or --all-namespaces")
	}
	s.single = len(names) == 1
	switch kind {
	case ourLocalQueue:
		found, err := fetch(ctx, hub, &kueue.LocalQueueList{}, func(l *kueue.LocalQueueList) *[]kueue.LocalQueue { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		return a.showLocalQueues(ctx, hub, s.output, found, namespace)
	case ourClusterQueue:
		found, err := fetch(ctx, hub, &kueue.ClusterQueueList{}, func(l *kueue.ClusterQueueList) *[]kueue.ClusterQueue { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		return a.showClusterQueues(ctx, hub, s.output, found)
	case ourWorkerCluster:
		f, err := a.fleet(ctx, hub)
		if err != nil {
			return err
		}
		if f.Clusters, err = named(f.Clusters, names); err != nil {
			return err
		}
		return a.print(s.output, printed{table: show.Clusters(f, a.now()), objects: pointers(f.Clusters)})
	default:
		found, err := fetch(ctx, hub, &kueue.WorkloadList{}, func(l *kueue.WorkloadList) *[]kueue.Workload { return &l.Items }, names, options)
		if err != nil {
			return err
		}
		queues, err := queuesOf(ctx, hub, namespace)
		if err != nil {
			return err
		}
		return a.showWorkloads(ctx, hub, s.output, found, queues, namespace)
	}
}

func namespacedKind(kind ours) bool { return kind == ourWorkload || kind == ourLocalQueue }

// fetch lists, and keeps the named objects, all of which must be there.
func fetch[L client.ObjectList, T any, P interface {
	*T
	client.Object
}](ctx context.Context, hub *site, list L, items func(L) *[]T, names []string, options []client.ListOption) ([]T, error) {
	if err := listAll(ctx, hub, list, options...); err != nil {
		return nil, err
	}
	return named[T, P](*items(list), names)
}

// named keeps the objects of those names, in their order; all for none.
func named[T any, P interface {
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
