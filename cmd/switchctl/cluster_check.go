package main

import (
	"context"

	"github.com/spf13/cobra"

	"switchyard.dev/cmd/switchctl/show"
)

func (a *app) newClusterCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check NAME", Short: "Check a worker cluster, and say what is missing",
		Long: `Check a worker cluster: the hub's connection, what people said of it, whether it is listed, the hub's token, the worker's
version and CRDs, the hub's rights there, and the queues. It ends with code 4 if jobs cannot run there.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeClusters,
	}
	c.RunE = a.do(func(ctx context.Context, args []string) error { return a.clusterCheck(ctx, args[0]) })
	return c
}

func (a *app) clusterCheck(ctx context.Context, name string) error {
	hub, err := a.sites.hub()
	if err != nil {
		return err
	}
	findings, err := a.examine(ctx, hub, name)
	if err != nil {
		return err
	}
	if err := a.table(show.Findings(findings), false); err != nil {
		return err
	}
	failed := 0
	for _, f := range findings {
		if f.Result == show.Failed {
			failed++
		}
	}
	if failed > 0 {
		return notReadyf("%d of %d checks of cluster %q failed", failed, len(findings), name)
	}
	return nil
}
