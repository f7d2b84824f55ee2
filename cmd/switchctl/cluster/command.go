// Package cluster has the commands about worker clusters: to register, check and list them, to rotate their credentials, to drain
// them and to take them away.
package cluster

import (
	"github.com/spf13/cobra"

	"switchyard.dev/cmd/switchctl/cli"
)

// NewCommand is the family of commands about worker clusters.
func NewCommand(a *cli.App) *cobra.Command {
	c := cli.NewGroupCommand("cluster", "Register worker clusters and look after them",
		newRegister(a), newList(a), newCheck(a), newRotate(a), newCordon(a),
		newUncordon(a), newDrain(a), newGone(a), newAdopt(a), newDiscard(a), newUnregister(a))
	c.Aliases = []string{"clusters"}
	return c
}
