package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/show"
)

// newCheck is "cluster check".
func newCheck(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "check NAME", Short: "Check a worker cluster, and say what is missing",
		Long: `Check a worker cluster: the hub's connection, what people said of it, whether it is listed, the hub's token, the worker's
version and CRDs, the hub's rights there, its run lease, what it may show its users there (register --access), and the queues. It ends with code 4 if jobs cannot run there.

Kinds of the hub's multiKueue.externalFrameworks are checked too, on the hub and there. They are found in the configuration of the
hub's program if that runs in the hub's cluster and you may read it; name them otherwise. Kinds that the hub's JobKinds declare are checked
there.`,
		Example: `  switchctl cluster check w1
  switchctl cluster check w1 --external-framework Simulation.v1.example.com`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteClusters,
	}
	origin := c.Flags().String("origin", configapi.DefaultMultiKueueOrigin, "The hub's multiKueue.origin, if it has another one")
	external := c.Flags().StringSlice(externalFlag, nil, "Kind.version.group of the hub's multiKueue.externalFrameworks, to check it too; can be repeated")
	pods := c.Flags().Bool(podsFlag, false, "Check whether the hub may run pods and sets of pods there, if its integrations.frameworks has any and that cannot be read")
	format := c.Flags().StringP("output", "o", "", "Output format. One of: json, yaml.")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		kinds, err := parseKinds(*external)
		if err != nil {
			return err
		}
		return runCheck(ctx, a, args[0], hubFacts{origin: *origin, externalOptions: externalOptions{named: kinds, pods: *pods}}, *format)
	})
	return c
}

// runCheck prints all findings about a cluster. It fails with the code "not ready" if one of them keeps jobs from running
// there.
func runCheck(ctx context.Context, a *cli.App, name string, facts hubFacts, format string) error {
	if !slices.Contains([]string{"", "json", "yaml"}, format) {
		return exit.Usagef("--output %s: want json or yaml", format)
	}
	hub, err := a.Clusters.Hub()
	if err != nil {
		return err
	}
	if facts.externalOptions, err = newExternalOptions(ctx, a, hub, facts.externalOptions); err != nil {
		return err
	}
	findings, err := checkCluster(ctx, a, hub, name, facts)
	if err != nil {
		return err
	}
	if err := printFindings(a, findings, format); err != nil {
		return err
	}
	failed := 0
	for _, f := range findings {
		if f.Result == show.Failed {
			failed++
		}
	}
	if failed > 0 {
		return exit.NotReadyf("%d of %d checks of cluster %q failed", failed, len(findings), name)
	}
	return nil
}

// printFindings prints the findings, as a table unless another format is wanted.
func printFindings(a *cli.App, findings []show.Finding, format string) error {
	var raw []byte
	var err error
	switch format {
	case "json":
		raw, err = json.MarshalIndent(findings, "", "    ")
		raw = append(raw, '\n')
	case "yaml":
		raw, err = yaml.Marshal(findings)
	default:
		return a.PrintPlainTable(show.Findings(findings))
	}
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	_, _ = a.Out.Write(raw)
	return nil
}
