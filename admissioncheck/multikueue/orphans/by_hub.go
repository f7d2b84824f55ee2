// Package orphans reports what workers have of this hub's origin that the hub does not know, and requeues what it missed to remove.
package orphans

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/cluster"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// ByHub is what is left alone on a cluster: Workloads, as namespace/name, by the hub that made them, as they say.
type ByHub map[types.UID]map[string]struct{}

// Add adds a Workload.
func (s ByHub) Add(hub types.UID, key client.ObjectKey) {
	if s[hub] == nil {
		s[hub] = map[string]struct{}{}
	}
	s[hub][key.String()] = struct{}{}
}

// ParseAdoptedHubs returns the hubs that administrators have declared this hub's own, by an annotation on any of the clusters. It is sorted.
func ParseAdoptedHubs(clusters []kueue.MultiKueueCluster) []types.UID {
	var hubs []types.UID
	for i := range clusters {
		for _, name := range cluster.SplitNames(strings.TrimSpace(clusters[i].Annotations[switchyard.AdoptHubsAnnotation])) {
			if !slices.Contains(hubs, types.UID(name)) {
				hubs = append(hubs, types.UID(name))
			}
		}
	}
	slices.Sort(hubs)
	return hubs
}
