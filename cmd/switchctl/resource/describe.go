package resource

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/cmd/switchctl/workload"
)

// NewDescribe describes workloads and queues. Other kinds are kubectl's.
func NewDescribe(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "describe {workload|localqueue|clusterqueue} NAME...", Short: "Describe workloads and queues, with the clusters they are on",
		Long: `Describe workloads and queues. Other kinds, and flags that only kubectl has, are passed to kubectl.`,
		Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
	}
	c.RunE = ownOrKubectl(a, "describe", []cli.ResourceKind{cli.KindWorkload, cli.KindLocalQueue, cli.KindClusterQueue}, func() *cobra.Command {
		return &cobra.Command{Use: "describe", RunE: func(cmd *cobra.Command, args []string) error {
			return runDescribe(cmd.Context(), a, args[0], args[1:])
		}}
	})
	return c
}

// runDescribe prints the objects of those names one after another.
func runDescribe(ctx context.Context, a *cli.App, word string, names []string) error {
	kind := cli.LookupKind(word)
	if len(names) == 0 {
		return exit.Usagef("which %s? Give its name, or see \"list %s\"", kind, kind)
	}
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	for i, name := range names {
		text, err := describeObject(ctx, a, hub, kind, name)
		if err != nil {
			return err
		}
		if i > 0 {
			text = "\n\n" + text
		}
		_, _ = fmt.Fprint(a.Out, text)
	}
	return nil
}

// describeObject reads an object with what belongs to it, and renders it.
func describeObject(ctx context.Context, a *cli.App, hub *kubeclient.Client, kind cli.ResourceKind, name string) (string, error) {
	namespace, err := a.Namespace()
	if err != nil {
		return "", err
	}
	var workloads kueue.WorkloadList
	switch kind {
	case cli.KindLocalQueue:
		q := &kueue.LocalQueue{}
		if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, q); err != nil {
			return "", fmt.Errorf("read LocalQueue %s of namespace %s: %w", name, namespace, err)
		}
		events, err := workload.ListEvents(ctx, hub, namespace, workload.IsObject("LocalQueue", q))
		if err == nil {
			err = kubeclient.ListObjects(ctx, hub, &workloads, client.InNamespace(namespace))
		}
		return show.DescribeLocalQueue(q, workloads.Items, events, a.Now()), err
	case cli.KindClusterQueue:
		q := &kueue.ClusterQueue{}
		if err := hub.Get(ctx, client.ObjectKey{Name: name}, q); err != nil {
			return "", fmt.Errorf("read ClusterQueue %s: %w", name, err)
		}
		events, err := workload.ListEvents(ctx, hub, "", workload.IsObject("ClusterQueue", q))
		if err == nil {
			err = kubeclient.ListObjects(ctx, hub, &workloads)
		}
		return show.DescribeClusterQueue(q, workloads.Items, events, a.Now()), err
	default:
		wl, err := workload.FindWorkload(ctx, a, hub, name)
		if err != nil {
			return "", err
		}
		q, err := workload.ExplainQuestion(ctx, hub, wl)
		if err != nil {
			return "", err
		}
		events, err := workload.ListEvents(ctx, hub, wl.Namespace, workload.IsObject("Workload", wl))
		return show.DescribeWorkload(q, events, a.Now()), err
	}
}
