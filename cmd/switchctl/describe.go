package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/show"
)

// newDescribe describes workloads and queues. Other kinds are kubectl's.
func (a *app) newDescribe() *cobra.Command {
	c := &cobra.Command{
		Use: "describe {workload|localqueue|clusterqueue} NAME...", Short: "Describe workloads and queues, with the clusters they are on",
		Long: `Describe workloads and queues. Other kinds, and flags that only kubectl has, are passed to kubectl.`,
		Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
	}
	c.RunE = a.ownOrKubectl("describe", []resourceKind{kindWorkload, kindLocalQueue, kindClusterQueue}, func() *cobra.Command {
		return &cobra.Command{Use: "describe", RunE: func(cmd *cobra.Command, args []string) error {
			return a.runDescribe(cmd.Context(), args[0], args[1:])
		}}
	})
	return c
}

func (a *app) runDescribe(ctx context.Context, word string, names []string) error {
	kind := lookupKind(word)
	if len(names) == 0 {
		return usagef("which %s? Give its name, or see \"list %s\"", kind, kind)
	}
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	for i, name := range names {
		text, err := a.describeObject(ctx, hub, kind, name)
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

func (a *app) describeObject(ctx context.Context, hub *kubeClient, kind resourceKind, name string) (string, error) {
	namespace, err := a.namespace()
	if err != nil {
		return "", err
	}
	var workloads kueue.WorkloadList
	switch kind {
	case kindLocalQueue:
		q := &kueue.LocalQueue{}
		if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, q); err != nil {
			return "", fmt.Errorf("read LocalQueue %s of namespace %s: %w", name, namespace, err)
		}
		events, err := listEvents(ctx, hub, namespace, isObject("LocalQueue", q))
		if err == nil {
			err = listObjects(ctx, hub, &workloads, client.InNamespace(namespace))
		}
		return show.DescribeLocalQueue(q, workloads.Items, events, a.now()), err
	case kindClusterQueue:
		q := &kueue.ClusterQueue{}
		if err := hub.Get(ctx, client.ObjectKey{Name: name}, q); err != nil {
			return "", fmt.Errorf("read ClusterQueue %s: %w", name, err)
		}
		events, err := listEvents(ctx, hub, "", isObject("ClusterQueue", q))
		if err == nil {
			err = listObjects(ctx, hub, &workloads)
		}
		return show.DescribeClusterQueue(q, workloads.Items, events, a.now()), err
	default:
		wl, err := a.findWorkload(ctx, hub, name)
		if err != nil {
			return "", err
		}
		q, err := explainQuestion(ctx, hub, wl)
		if err != nil {
			return "", err
		}
		events, err := listEvents(ctx, hub, wl.Namespace, isObject("Workload", wl))
		return show.DescribeWorkload(q, events, a.now()), err
	}
}
