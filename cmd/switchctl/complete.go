package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// completionTimeout keeps a shell from hanging when the hub is away.
const completionTimeout = 3 * time.Second

type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

func (a *app) completeClusters(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.completeNames(func() client.ObjectList { return &kueue.MultiKueueClusterList{} }, false)(cmd, args, begun)
}

// completeNames offers the names of a kind for a command's first argument.
func (a *app) completeNames(kind func() client.ObjectList, namespaced bool) completer {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.listNames(cmd.Context(), kind(), namespaced, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// listNames are those of the objects of a kind that begin like that; none if anything goes wrong: a shell has no use for errors.
func (a *app) listNames(ctx context.Context, list client.ObjectList, namespaced bool, begun string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	hub, err := a.sites.hub()
	if err != nil {
		return nil
	}
	var options []client.ListOption
	if namespaced {
		namespace, err := a.namespace()
		if err != nil {
			return nil
		}
		options = append(options, client.InNamespace(namespace))
	}
	if err := listObjects(ctx, hub, list, options...); err != nil {
		return nil
	}
	var names []string
	for _, obj := range listItems(list) {
		if strings.HasPrefix(obj.GetName(), begun) {
			names = append(names, obj.GetName())
		}
	}
	return names
}
