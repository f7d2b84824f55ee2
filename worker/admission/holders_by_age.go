package admission

import (
	"cmp"
	"slices"
)

// HoldersByAge lists the workloads that hold quota in the queue's tree by the time they got it, the oldest first: the order
// in which they may be expected to end. It visits every holder: for explanations, not for cycles.
func (s *Snapshot) HoldersByAge(queue string) []Reservation {
	root := s.Root(queue)
	var list []Reservation
	for _, t := range s.workloads {
		if h := t.holder; h != nil && s.Root(h.Queue) == root {
			list = append(list, h.Reservation)
		}
	}
	slices.SortFunc(list, func(a, b Reservation) int {
		return cmp.Or(a.ReservedAt.Compare(b.ReservedAt), a.Compare(b.Key))
	})
	return list
}
