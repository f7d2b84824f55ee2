package main

import (
	"github.com/spf13/cobra"
)

// newCluster is the family of commands about worker clusters.
func (a *app) newCluster() *cobra.Command {
	c := newGroupCommand("cluster", "Register worker clusters and look after them",
		a.newClusterRegister(), a.newClusterList(), a.newClusterCheck(), a.newClusterRotate(), a.newClusterCordon(),
		a.newClusterUncordon(), a.newClusterDrain(), a.newClusterGone(), a.newClusterAdopt(), a.newClusterDiscard(), a.newClusterUnregister())
	c.Aliases = []string{"clusters"}
	return c
}
