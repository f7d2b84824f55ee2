package main

import "github.com/spf13/cobra"

// newQueue is the family of commands that set up queues over all clusters.
func (a *app) newQueue() *cobra.Command {
	return newGroupCommand("queue", "Set up queues on the hub and its workers", a.newQueueSetup())
}
