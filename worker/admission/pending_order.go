package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/order"
)

// PendingOrder is what waits in a ClusterQueue at one moment, inadmissible workloads included. To take it costs little more than to
// copy it; List puts it in order, and needs the snapshot no more.
type PendingOrder struct {
	entries []pendingEntry
	// sticky goes first among those of its usage; nil for none.
	sticky *PendingWorkload
}

// pendingEntry is a workload with what decides nearly always about its place at hand.
type pendingEntry struct {
	usage  int64
	prefix order.RankPrefix
	*PendingWorkload
}

// PendingOrder takes what waits in a ClusterQueue.
func (s *Status) PendingOrder(queue string) PendingOrder {
	d := s.queues.lookupQueueState(queue)
	p := PendingOrder{entries: make([]pendingEntry, 0, d.counters.pending)}
	if d.pendingQueue != nil {
		d.pendingQueue.EachMember(func(usage int64, prefix order.RankPrefix, m *QueueMember) {
			p.entries = append(p.entries, pendingEntry{usage, prefix, m.Value})
		})
		if sticky := d.pendingQueue.StickyHead(); sticky != nil {
			p.sticky = sticky.Value
		}
	}
	if d.counters.backingOff > 0 {
		for _, e := range s.backingOff.All() {
			if e.queueState == d {
				p.entries = append(p.entries, pendingEntry{int64(s.usage.usageOrder(&e.Workload)), e.rank().Prefix(), e})
			}
		}
	}
	return p
}

// List returns the workloads in the order in which the ClusterQueue looks at them (contract: kueue-api.md 1.17, 4.2): a workload's
// position is its index. They must not be changed.
func (p PendingOrder) List() []*Workload {
	slices.SortFunc(p.entries, p.compare)
	list := make([]*Workload, len(p.entries))
	for i, e := range p.entries {
		list[i] = &e.Workload
	}
	return list
}

func (p PendingOrder) compare(a, b pendingEntry) int {
	if c := cmp.Compare(a.usage, b.usage); c != 0 {
		return c
	}
	switch p.sticky {
	case nil:
	case a.PendingWorkload:
		return -1
	case b.PendingWorkload:
		return 1
	}
	if c := a.prefix.Compare(b.prefix); c != 0 {
		return c
	}
	return a.rank().Compare(b.rank())
}

// ListPending lists the workloads that wait in a ClusterQueue in the order in which it looks at them; see PendingOrder.
func (s *Status) ListPending(queue string) []Workload {
	var list []Workload
	for _, w := range s.PendingOrder(queue).List() {
		list = append(list, *w)
	}
	return list
}
