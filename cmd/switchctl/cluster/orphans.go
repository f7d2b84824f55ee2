package cluster

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
)

// newAdopt is "cluster adopt". It adds the former hub to those that the cluster's annotation names already.
func newAdopt(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "adopt NAME HUB", Short: "Declare that what a former hub left behind is this hub's", Args: cobra.ExactArgs(2),
		Long: `Declare that a hub is no more, and that what it left behind, on whatever cluster, is this hub's now. HUB is its identity, the UID of
its namespace kube-system, as "cluster check" shows it. A job of a name that this hub has too is stopped before that runs; the others
run on until they are discarded.`,
	}
	return completeAnnotateCommand(a, c, "adopting", func(args []string, had map[string]string) map[string]string {
		hubs := strings.FieldsFunc(had[switchyard.AdoptHubsAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
		if !slices.Contains(hubs, args[1]) {
			hubs = append(hubs, args[1])
		}
		return map[string]string{switchyard.AdoptHubsAnnotation: strings.Join(hubs, ",")}
	})
}

// newDiscard is "cluster discard". The annotation has the time of the command, so that what comes later is not removed; the
// API counts full seconds.
func newDiscard(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "discard NAME", Short: "Remove the jobs on a cluster that this hub has no record of", Args: cobra.ExactArgs(1),
		Long: `Remove what is on a cluster now and is this hub's, but of a time that it has no record of: what was dispatched after the backup that
the hub was restored from, and what hubs that were adopted have left. Jobs of another hub that was not adopted stay.`,
	}
	completeAnnotateCommand(a, c, "discarding", func([]string, map[string]string) map[string]string {
		return map[string]string{switchyard.DiscardOrphansAnnotation: a.Now().UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339)}
	})
	yes := false
	c.Flags().BoolVarP(&yes, "yes", "y", false, "Do not ask")
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes && !a.AskConfirmation("Are the jobs on cluster %q that this hub has no record of to be removed, though they may run?", args[0]) {
			a.Parsed = true
			return exit.Usagef("nothing was changed: confirm, or pass --yes")
		}
		return run(cmd, args)
	}
	return c
}
