package hubworkload

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// Names and special values of the indexes of the hub's cache.
const (
	// ByCluster finds Workloads by the clusters that their State names. Those that look for a cluster are found under
	// UnplacedValue, and all that are being dispatched or still wait for a cluster under InDispatchValue.
	ByCluster       = "multikueue.cluster"
	UnplacedValue   = "*"
	InDispatchValue = "**"
	// ByOwner finds Workloads by their job, see Owner.IndexValue.
	ByOwner = "multikueue.owner"
)

// ClusterIndexValues returns the values of ByCluster. A Workload without quota looks for no cluster, but waits for those that its State
// names: it must not be deleted before they have nothing of it.
func ClusterIndexValues(wl *kueue.Workload) []string {
	state := DecodeState(wl)
	names := state.Names()
	if workload.IsFinished(wl) {
		return names
	}
	quota := workload.HasQuota(wl)
	if quota && state.Bound == "" {
		names = append(names, UnplacedValue)
	}
	if quota || len(names) > 0 {
		names = append(names, InDispatchValue)
	}
	return names
}

// OwnerIndexValues returns the values of ByOwner.
func OwnerIndexValues(wl *kueue.Workload) []string {
	own, ok := LookupOwner(wl)
	if !ok {
		return nil
	}
	values := []string{own.IndexValue()}
	for _, ref := range wl.OwnerReferences {
		one := Owner{GVK: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Name: ref.Name}
		if one.GVK == own.GVK && one != own { // a group's pods own it together
			values = append(values, one.IndexValue())
		}
	}
	return values
}
