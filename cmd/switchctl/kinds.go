package main

import (
	"strings"

	"github.com/spf13/cobra"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// resourceKind is a kind that commands show by themselves; others are left to kubectl.
type resourceKind string

const (
	kindWorkload      resourceKind = "workload"
	kindLocalQueue    resourceKind = "localqueue"
	kindClusterQueue  resourceKind = "clusterqueue"
	kindFlavor        resourceKind = "resourceflavor"
	kindPods          resourceKind = "pods"
	kindWorkerCluster resourceKind = "multikueuecluster"
)

// kindAliases are the names of our kinds besides their own, as the API's and kueuectl's users know them.
func kindAliases(kind resourceKind) []string {
	switch kind {
	case kindWorkload:
		return []string{"workloads", "wl", "kwl", "kueueworkload", "kueueworkloads"}
	case kindLocalQueue:
		return []string{"localqueues", "lq", "queue", "queues"}
	case kindClusterQueue:
		return []string{"clusterqueues", "cq"}
	case kindFlavor:
		return []string{"resourceflavors", "rf"}
	case kindPods:
		return []string{"pod", "po"}
	case kindWorkerCluster:
		return []string{"multikueueclusters", "mkc", "cluster", "clusters"}
	}
	return nil
}

// lookupKind is the kind that a word names; "" if it is none of ours.
func lookupKind(word string) resourceKind {
	word = strings.TrimSuffix(strings.ToLower(word), "."+kueue.GroupVersion.Group)
	for _, kind := range []resourceKind{kindWorkload, kindLocalQueue, kindClusterQueue, kindFlavor, kindPods, kindWorkerCluster} {
		if word == string(kind) {
			return kind
		}
		for _, alias := range kindAliases(kind) {
			if word == alias {
				return kind
			}
		}
	}
	return ""
}

// newKindCommand is a command about one of our kinds.
func newKindCommand(kind resourceKind, use, short string) *cobra.Command {
	return &cobra.Command{Use: strings.TrimSpace(string(kind) + " " + use), Aliases: kindAliases(kind), Short: short}
}
