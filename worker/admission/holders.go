package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/quota"
)

// holders finds the workloads that hold quota by what they could be evicted for. Reservations that are only assumed are in
// none of its lists: their admission is being written, and an eviction would race with it.
type holders struct {
	// staying has a roll for every LocalQueue through which some flavor-resource of a queue is held by workloads that have
	// not been told to stop.
	staying map[station][]*Roll
	// leaving has those that have been told, by queue; queues without any are not in it.
	leaving map[string][]*Reservation
}

type station struct {
	queue string
	FlavorResource
}

// Roll lists the workloads of one LocalQueue that hold some flavor-resource through one queue, in the order in which
// preemption takes them: lower priority, later reservation, UID (contract: kueue-api.md 4.7).
type Roll struct {
	LocalQueue Key
	Holders    []*Reservation
}

func newHolders() holders {
	return holders{staying: map[station][]*Roll{}, leaving: map[string][]*Reservation{}}
}

// TakenBefore is negative if preemption takes a before b, all else being equal: lower priority, later reservation, UID.
func TakenBefore(a, b *Reservation) int {
	if c := cmp.Compare(a.Priority, b.Priority); c != 0 {
		return c
	}
	if c := b.ReservedAt.Compare(a.ReservedAt); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.UID, b.UID), a.Compare(b.Key))
}

// add enters a reservation, which must stay as it is until remove.
func (x *holders) add(r *Reservation) {
	switch {
	case r.Assumed:
	case r.Evicted:
		x.leaving[r.Queue] = enter(x.leaving[r.Queue], r)
	default:
		for _, use := range r.Usage {
			if use.Amount > 0 {
				at := station{queue: r.Queue, FlavorResource: use.FlavorResource}
				roll := x.roll(at, r.localKey())
				roll.Holders = enter(roll.Holders, r)
			}
		}
	}
}

func (x *holders) remove(r *Reservation) {
	switch {
	case r.Assumed:
	case r.Evicted:
		if x.leaving[r.Queue] = strike(x.leaving[r.Queue], r); len(x.leaving[r.Queue]) == 0 {
			delete(x.leaving, r.Queue)
		}
	default:
		for _, use := range r.Usage {
			if use.Amount > 0 {
				x.strike(station{queue: r.Queue, FlavorResource: use.FlavorResource}, r)
			}
		}
	}
}

// roll returns the roll of a LocalQueue, opening one if there is none.
func (x *holders) roll(at station, local Key) *Roll {
	rolls := x.staying[at]
	i, found := slices.BinarySearchFunc(rolls, local, byLocalQueue)
	if !found {
		rolls = slices.Insert(rolls, i, &Roll{LocalQueue: local})
		x.staying[at] = rolls
	}
	return rolls[i]
}

// strike takes a reservation off its roll and closes what is empty.
func (x *holders) strike(at station, r *Reservation) {
	rolls := x.staying[at]
	i, found := slices.BinarySearchFunc(rolls, r.localKey(), byLocalQueue)
	if !found {
		panic("admission: every holder is on the rolls of what it holds")
	}
	if rolls[i].Holders = strike(rolls[i].Holders, r); len(rolls[i].Holders) > 0 {
		return
	}
	if x.staying[at] = slices.Delete(rolls, i, i+1); len(x.staying[at]) == 0 {
		delete(x.staying, at)
	}
}

func byLocalQueue(r *Roll, local Key) int { return r.LocalQueue.Compare(local) }

func enter(list []*Reservation, r *Reservation) []*Reservation {
	i, _ := slices.BinarySearchFunc(list, r, TakenBefore)
	return slices.Insert(list, i, r)
}

func strike(list []*Reservation, r *Reservation) []*Reservation {
	i, found := slices.BinarySearchFunc(list, r, TakenBefore)
	if !found {
		panic("admission: every holder is on the rolls of what it holds")
	}
	return slices.Delete(list, i, i+1)
}

// Rolls returns who holds the flavor-resource through the queue, those that are leaving or only assumed left out; by
// LocalQueue. The caller must change nothing in it and lose it at the snapshot's next mutation.
func (s *Snapshot) Rolls(queue string, name FlavorResource) []*Roll {
	return s.holders.staying[station{queue: queue, FlavorResource: name}]
}

// AppendLeaving appends to the list, in no particular order, those who hold quota in the same tree as the queue and have
// been told to stop.
func (s *Snapshot) AppendLeaving(list []*Reservation, queue string) []*Reservation {
	if len(s.holders.leaving) == 0 {
		return list
	}
	at := s.quota.QueueNode(queue)
	for name, leaving := range s.holders.leaving {
		if there := s.quota.QueueNode(name); at != nil && there != nil && there.Root() == at.Root() {
			list = append(list, leaving...)
		}
	}
	return list
}

// Quota returns the account of all reservations, for questions and trials: whoever books something must take it back.
func (s *Snapshot) Quota() *quota.Tree { return s.quota }

// QueueShare returns the share that a ClusterQueue has of what can be borrowed, zero for one that is unknown (contract:
// kueue-api.md 4.8).
func (s *Snapshot) QueueShare(name string) quota.Share {
	if n := s.quota.QueueNode(name); n != nil {
		return n.Share()
	}
	return quota.Share{}
}

// CohortShare is QueueShare for a cohort.
func (s *Snapshot) CohortShare(name string) quota.Share {
	if n := s.quota.CohortNode(name); n != nil {
		return n.Share()
	}
	return quota.Share{}
}
