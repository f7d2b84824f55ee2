package assign

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// recordAssignment writes down what pod set i gets from the choices, one a group.
func (a *assignState) recordAssignment(i int, chosen []flavorChoice) {
	podSet := &a.workload.PodSets[i]
	got := admission.PodSetAssignment{
		Name: podSet.Name, Count: podSet.Count,
		Flavors: a.slabs.flavors.alloc(len(podSet.Requests) + 1)[:0],
		Usage:   a.slabs.requests.alloc(len(podSet.Requests) + 1)[:0],
	}
	take := func(resource string, v amount.Amount) {
		column, covered := a.flavorTable.FindResource(resource)
		if !covered {
			return
		}
		flavor := chosen[column.Group].flavor
		got.Flavors = append(got.Flavors, admission.ResourceFlavor{Resource: resource, Flavor: flavor.Name})
		got.Usage = append(got.Usage, amount.Request{Resource: resource, Amount: v})
		a.assigned = append(a.assigned, assignedUse{cell: flavor.Cells[column.Index], Use: quota.Use{
			FlavorResource: quota.FlavorResource{Flavor: flavor.Name, Resource: resource}, Amount: v,
		}})
	}
	for _, r := range podSet.Requests {
		take(r.Resource, r.Amount.Times(int64(podSet.Count)))
	}
	if _, counted := a.flavorTable.FindResource(amount.Pods); counted {
		take(amount.Pods, amount.Amount(podSet.Count))
		insertLastSorted(got.Flavors, got.Usage)
	}
	a.podSets[i] = got
}

// insertLastSorted moves the last entry of both lists to its place by resource, the others being sorted.
func insertLastSorted(flavors []admission.ResourceFlavor, usage amount.Vector) {
	for i := len(usage) - 1; i > 0 && usage[i].Resource < usage[i-1].Resource; i-- {
		usage[i], usage[i-1] = usage[i-1], usage[i]
		flavors[i], flavors[i-1] = flavors[i-1], flavors[i]
	}
}

// usage is what all pod sets were given, summed up by flavor and resource.
func (a *assignState) usage() quota.Usage {
	uses := a.slabs.uses.alloc(len(a.assigned))
	for i, t := range a.assigned {
		uses[i] = t.Use
	}
	return quota.MergeUses(uses)
}
