package capacity

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/view"
)

// fromReport is the capacity that a report tells of; nil if the queues had to be left out of it.
func fromReport(from *switchyard.CapacityReport) *placement.Capacity {
	if slices.Contains(from.Omitted, switchyard.OmittedClusterQueues) {
		return nil
	}
	c := &placement.Capacity{At: from.ObservedAt.Time, IgnoresUncovered: from.IgnoresUncovered}
	if len(from.Kinds) > 0 {
		c.Kinds = slices.Sorted(slices.Values(from.Kinds))
	}
	for _, f := range from.Flavors {
		flavor := &kueue.ResourceFlavor{Spec: kueue.ResourceFlavorSpec{
			NodeLabels: f.NodeLabels, NodeTaints: f.NodeTaints, Tolerations: f.Tolerations,
		}}
		flavor.Name = f.Name
		c.Flavors = append(c.Flavors, view.ConvertFlavor(flavor))
	}
	for _, q := range from.ClusterQueues {
		queue := queueFromReport(&q)
		applyOmissions(&queue, from.Omitted)
		c.Queues = append(c.Queues, queue)
		for _, lq := range q.LocalQueues {
			c.Locals = append(c.Locals, placement.LocalQueue{Key: parseKey(lq.Name), Queue: q.Name, Closed: lq.Closed})
		}
	}
	sortCapacity(c)
	return c
}

// queueFromReport converts one ClusterQueue of a report. Its numbers are taken as they are.
func queueFromReport(q *switchyard.CapacityQueue) placement.Queue {
	queue := placement.Queue{Name: q.Name, Closed: q.Closed, Strict: q.Strict}
	for _, g := range q.Groups {
		group := placement.Group{Resources: g.Resources}
		for _, f := range g.Flavors {
			room := placement.FlavorQuota{Flavor: f.Flavor, Nominal: toAmounts(f.Own), Free: toAmounts(f.Free), Largest: toAmounts(f.Largest)}
			for _, step := range f.Preempting {
				room.Preempting = append(room.Preempting, placement.Step{Priority: step.Priority, Free: toAmounts(step.Free)})
			}
			group.Flavors = append(group.Flavors, room)
		}
		queue.Groups = append(queue.Groups, group)
	}
	for _, w := range q.Waiting {
		queue.Waiting = append(queue.Waiting, placement.PendingClass{Priority: w.Priority, Count: int(w.Count), Since: w.Since.Time})
	}
	return queue
}

// applyOmissions corrects the figures for what a report leaves out because it would have been too large. Without the
// preemption steps, preemption may be possible. Without the pending workloads, a strict queue may have some that wait for its
// room.
func applyOmissions(q *placement.Queue, omitted []string) {
	evicting := slices.Contains(omitted, switchyard.OmittedPreempting)
	waiting := q.Strict && slices.Contains(omitted, switchyard.OmittedWaiting)
	for g := range q.Groups {
		for f := range q.Groups[g].Flavors {
			room := &q.Groups[g].Flavors[f]
			switch {
			case evicting:
				room.Potential = room.Largest
			case waiting:
				room.Potential = room.Free
			}
			if waiting {
				room.Nominal, room.Free = nil, nil
			}
		}
	}
}

func toAmounts(figures []int64) []amount.Amount {
	list := make([]amount.Amount, 0, len(figures))
	for _, f := range figures {
		list = append(list, amount.Amount(f))
	}
	return list
}

// sortCapacity puts the lists in the order that placement searches them in.
func sortCapacity(c *placement.Capacity) {
	slices.SortFunc(c.Flavors, func(a, b admission.Flavor) int { return compareNames(a.Name, b.Name) })
	slices.SortFunc(c.Queues, func(a, b placement.Queue) int { return compareNames(a.Name, b.Name) })
	slices.SortFunc(c.Locals, func(a, b placement.LocalQueue) int { return a.Key.Compare(b.Key) })
}
