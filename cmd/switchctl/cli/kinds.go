package cli

import (
	"strings"

	"github.com/spf13/cobra"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// ResourceKind is a kind that commands show by themselves; others are left to kubectl.
type ResourceKind string

// The kinds, by the names that commands, tables and error messages use.
const (
	KindWorkload      ResourceKind = "workload"
	KindLocalQueue    ResourceKind = "localqueue"
	KindClusterQueue  ResourceKind = "clusterqueue"
	KindFlavor        ResourceKind = "resourceflavor"
	KindPods          ResourceKind = "pods"
	KindWorkerCluster ResourceKind = "multikueuecluster"
)

// kindAliases are the names of our kinds besides their own, as the API's and kueuectl's users know them.
func kindAliases(kind ResourceKind) []string {
	switch kind {
	case KindWorkload:
		return []string{"workloads", "wl", "kwl", "kueueworkload", "kueueworkloads"}
	case KindLocalQueue:
		return []string{"localqueues", "lq", "queue", "queues"}
	case KindClusterQueue:
		return []string{"clusterqueues", "cq"}
	case KindFlavor:
		return []string{"resourceflavors", "rf"}
	case KindPods:
		return []string{"pod", "po"}
	case KindWorkerCluster:
		return []string{"multikueueclusters", "mkc", "cluster", "clusters"}
	}
	return nil
}

// LookupKind is the kind that a word names; "" if it is none of ours.
func LookupKind(word string) ResourceKind {
	word = strings.TrimSuffix(strings.ToLower(word), "."+kueue.GroupVersion.Group)
	for _, kind := range []ResourceKind{KindWorkload, KindLocalQueue, KindClusterQueue, KindFlavor, KindPods, KindWorkerCluster} {
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

// NewKindCommand is a command about one of our kinds.
func NewKindCommand(kind ResourceKind, use, short string) *cobra.Command {
	return &cobra.Command{Use: strings.TrimSpace(string(kind) + " " + use), Aliases: kindAliases(kind), Short: short}
}
