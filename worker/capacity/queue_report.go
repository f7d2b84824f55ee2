package capacity

import (
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/view"
)

// maxPriorities is how many priorities a list of a report has at most.
const maxPriorities = 8

// buildQueueReport turns one ClusterQueue into its part of the report.
func buildQueueReport(room *view.QueueCapacity, evict *preemptableQuota, waiting []switchyard.CapacityWaiting) switchyard.CapacityQueue {
	q := switchyard.CapacityQueue{
		Name: room.Name, Closed: room.InactiveMessage, Strict: room.Strategy == admission.StrictFIFO, Waiting: waiting,
	}
	for _, l := range room.LocalQueues {
		q.LocalQueues = append(q.LocalQueues, switchyard.CapacityLocalQueue{Name: l.Namespace + "/" + l.Name, Closed: l.InactiveMessage})
	}
	cells := room.Cells
	for _, g := range room.Groups {
		group := switchyard.CapacityGroup{Resources: g.Resources}
		for _, f := range g.Flavors {
			of := cells[:len(g.Resources)]
			cells = cells[len(g.Resources):]
			group.Flavors = append(group.Flavors, buildFlavorFigures(f.Flavor, of, evict.capacitySteps(room, of)))
		}
		q.Groups = append(q.Groups, group)
	}
	return q
}

// buildFlavorFigures are those of one flavor; cells has one for each resource of the group.
func buildFlavorFigures(flavor string, cells []view.CellCapacity, steps []switchyard.CapacityStep) switchyard.CapacityFigures {
	f := switchyard.CapacityFigures{Flavor: flavor, Preempting: steps}
	for i := range cells {
		now := freeQuota(&cells[i])
		f.Own = append(f.Own, int64(min(ownQuota(&cells[i]), now)))
		f.Free = append(f.Free, int64(now))
		f.Largest = append(f.Largest, int64(potentialQuota(&cells[i])))
	}
	return f
}

func ownQuota(c *view.CellCapacity) amount.Amount       { return c.Quota.Sub(c.Usage).AtLeast(0) }
func freeQuota(c *view.CellCapacity) amount.Amount      { return c.Available.AtLeast(0) }
func potentialQuota(c *view.CellCapacity) amount.Amount { return c.Potential.AtLeast(0) }
