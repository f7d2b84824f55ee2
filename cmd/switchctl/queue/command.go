// Package queue has the commands that set up queues on the hub and its workers.
package queue

import (
	"github.com/spf13/cobra"

	"switchyard.dev/cmd/switchctl/cli"
)

// NewCommand is the family of commands that set up queues over all clusters.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroupCommand("queue", "Set up queues on the hub and its workers", newSetup(a))
}
