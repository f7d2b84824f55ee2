package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// completionTimeout keeps a shell from hanging when the hub is away.
const completionTimeout = 3 * time.Second

type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// CompleteClusters offers the names of the worker clusters for a command's first argument.
func (a *App) CompleteClusters(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.CompleteNames(func() client.ObjectList { return &kueue.MultiKueueClusterList{} }, false)(cmd, args, begun)
}

// CompleteNames offers the names of a kind for a command's first argument.
func (a *App) CompleteNames(kind func() client.ObjectList, namespaced bool) completer {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.ListNames(cmd.Context(), kind(), namespaced, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// ListNames are those of the objects of a kind that begin like that; none if anything goes wrong: a shell has no use for errors.
func (a *App) ListNames(ctx context.Context, list client.ObjectList, namespaced bool, begun string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	hub, err := a.Clusters.Hub()
	if err != nil {
		return nil
	}
	var options []client.ListOption
	if namespaced {
		namespace, err := a.Namespace()
		if err != nil {
			return nil
		}
		options = append(options, client.InNamespace(namespace))
	}
	if err := kubeclient.ListObjects(ctx, hub, list, options...); err != nil {
		return nil
	}
	var names []string
	for _, obj := range kubeclient.ListItems(list) {
		if strings.HasPrefix(obj.GetName(), begun) {
			names = append(names, obj.GetName())
		}
	}
	return names
}
