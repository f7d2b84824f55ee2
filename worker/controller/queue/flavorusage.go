package queue

import (
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// maxFlavors is the largest number of flavors that a status may list. A ClusterQueue may have more (contract: kueue-api.md
// 1.3): those at the end are left out.
const maxFlavors = 64

// FlavorUsage is what is taken of one flavor.
type FlavorUsage struct {
	Name      string
	Resources []admission.FlavorStatus
}

// GroupByFlavor groups the figures by flavor, in the order given, which is that of the ClusterQueue's spec.
func GroupByFlavor(list []admission.FlavorStatus) []FlavorUsage {
	var out []FlavorUsage
	for _, f := range list {
		i := len(out) - 1
		if i < 0 || out[i].Name != f.Flavor {
			if len(out) == maxFlavors {
				break
			}
			out = append(out, FlavorUsage{Name: f.Flavor})
			i++
		}
		out[i].Resources = append(out[i].Resources, f)
	}
	return out
}

// ClampCount is a number of workloads as a status has it.
func ClampCount(n int) int32 { return int32(min(n, 1<<31-1)) }

// FairSharingStatus is the status of fair sharing; nil without it.
func (p Config) FairSharingStatus(share func() quota.Share) *kueue.FairSharingStatus {
	if !p.FairSharing {
		return nil
	}
	return &kueue.FairSharingStatus{WeightedShare: share().WeightedShare()}
}
