package main

import (
	"strings"

	"github.com/spf13/cobra"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ours is a kind that commands show by themselves; others are left to kubectl.
type ours string

const (
	ourWorkload      ours = "workload"
	ourLocalQueue    ours = "localqueue"
	ourClusterQueue  ours = "clusterqueue"
	ourFlavor        ours = "resourceflavor"
	ourPods          ours = "pods"
	ourWorkerCluster ours = "multikueuecluster"
)

// aliases are the names of our kinds besides their own, as the API's and kueuectl's users know them.
func aliases(kind ours) []string {
	switch kind {
	case ourWorkload:
		return []string{"workloads", "wl", "kwl", "kueueworkload", "kueueworkloads"}
	case ourLocalQueue:
		return []string{"localqueues", "lq", "queue", "queues"}
	case ourClusterQueue:
		return []string{"clusterqueues", "cq"}
	case ourFlavor:
		return []string{"resourceflavors", "rf"}
	case ourPods:
		return []string{"pod", "po"}
	case ourWorkerCluster:
		return []string{"multikueueclusters", "mkc", "cluster", "clusters"}
	}
	return nil
}

// kindWord is the kind that a word names; "" if it is none of ours.
func kindWord(word string) ours {
	word = strings.TrimSuffix(strings.ToLower(word), "."+kueue.GroupVersion.Group)
	for _, kind := range []ours{ourWorkload, ourLocalQueue, ourClusterQueue, ourFlavor, ourPods, ourWorkerCluster} {
		if word == string(kind) {
			return kind
		}
		for _, alias := range aliases(kind) {
			if word == alias {
				return kind
			}
		}
	}
	return ""
}

// ofKind is a command about one of our kinds.
func ofKind(kind ours, use, short string) *cobra.Command {
	return &cobra.Command{Use: strings.TrimSpace(string(kind) + " " + use), Aliases: aliases(kind), Short: short}
}
