package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/quota"
)

// candidateIndex finds the workloads that hold quota by what they could be evicted for. Reservations that are only assumed are in
// none of its lists: their admission is being written, and an eviction would race with it.
type candidateIndex struct {
	// lists has a candidate list for every LocalQueue through which some flavor-resource of a queue is held by workloads that have
	// not been told to stop.
	lists map[candidateListKey][]*CandidateList
	// leaving has those that have been told, by queue; queues without any are not in it.
	leaving map[string][]*Reservation
}

type candidateListKey struct {
	queue string
	FlavorResource
}

// CandidateList lists the workloads of one LocalQueue that hold some flavor-resource through one queue, in the order in which
// preemption takes them: lower priority, later reservation, UID (contract: kueue-api.md 4.7).
type CandidateList struct {
	LocalQueue   Key
	Reservations []*Reservation
}

func newCandidateIndex() candidateIndex {
	return candidateIndex{lists: map[candidateListKey][]*CandidateList{}, leaving: map[string][]*Reservation{}}
}

// CompareCandidates is negative if preemption takes a before b, all else being equal: lower priority, later reservation, UID.
func CompareCandidates(a, b *Reservation) int {
	if c := cmp.Compare(a.Priority, b.Priority); c != 0 {
		return c
	}
	if c := b.ReservedAt.Compare(a.ReservedAt); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.UID, b.UID), a.Compare(b.Key))
}

// add enters a reservation, which must stay as it is until remove.
func (x *candidateIndex) add(r *Reservation) {
	switch {
	case r.Assumed:
	case r.Evicted:
		x.leaving[r.Queue] = insertCandidate(x.leaving[r.Queue], r)
	default:
		for _, use := range r.Usage {
			if use.Amount > 0 {
				at := candidateListKey{queue: r.Queue, FlavorResource: use.FlavorResource}
				list := x.ensureList(at, r.localQueueKey())
				list.Reservations = insertCandidate(list.Reservations, r)
			}
		}
	}
}

// remove takes out a reservation that add entered. It must not have changed since.
func (x *candidateIndex) remove(r *Reservation) {
	switch {
	case r.Assumed:
	case r.Evicted:
		if x.leaving[r.Queue] = removeCandidate(x.leaving[r.Queue], r); len(x.leaving[r.Queue]) == 0 {
			delete(x.leaving, r.Queue)
		}
	default:
		for _, use := range r.Usage {
			if use.Amount > 0 {
				x.removeFromList(candidateListKey{queue: r.Queue, FlavorResource: use.FlavorResource}, r)
			}
		}
	}
}

// ensureList returns the candidate list of a LocalQueue, creating one if there is none.
func (x *candidateIndex) ensureList(at candidateListKey, local Key) *CandidateList {
	lists := x.lists[at]
	i, found := slices.BinarySearchFunc(lists, local, compareLocalQueue)
	if !found {
		lists = slices.Insert(lists, i, &CandidateList{LocalQueue: local})
		x.lists[at] = lists
	}
	return lists[i]
}

// removeFromList takes a reservation from its list and removes lists that are empty.
func (x *candidateIndex) removeFromList(at candidateListKey, r *Reservation) {
	lists := x.lists[at]
	i, found := slices.BinarySearchFunc(lists, r.localQueueKey(), compareLocalQueue)
	if !found {
		panic("admission: every holder is on the rolls of what it holds")
	}
	if lists[i].Reservations = removeCandidate(lists[i].Reservations, r); len(lists[i].Reservations) > 0 {
		return
	}
	if x.lists[at] = slices.Delete(lists, i, i+1); len(x.lists[at]) == 0 {
		delete(x.lists, at)
	}
}

func compareLocalQueue(r *CandidateList, local Key) int { return r.LocalQueue.Compare(local) }

func insertCandidate(list []*Reservation, r *Reservation) []*Reservation {
	i, _ := slices.BinarySearchFunc(list, r, CompareCandidates)
	return slices.Insert(list, i, r)
}

func removeCandidate(list []*Reservation, r *Reservation) []*Reservation {
	i, found := slices.BinarySearchFunc(list, r, CompareCandidates)
	if !found {
		panic("admission: every holder is on the rolls of what it holds")
	}
	return slices.Delete(list, i, i+1)
}

// Candidates returns the workloads that hold the flavor-resource through the queue, by LocalQueue. Workloads that are leaving
// or only assumed are left out. The caller must not change the result; it is valid until the snapshot's next mutation.
func (s *Snapshot) Candidates(queue string, name FlavorResource) []*CandidateList {
	return s.candidates.lists[candidateListKey{queue: queue, FlavorResource: name}]
}

// AppendLeaving appends to the list, in no particular order, the workloads that hold quota in the same tree as the queue and
// have been told to stop.
func (s *Snapshot) AppendLeaving(list []*Reservation, queue string) []*Reservation {
	if len(s.candidates.leaving) == 0 {
		return list
	}
	at := s.quota.QueueNode(queue)
	for name, leaving := range s.candidates.leaving {
		if there := s.quota.QueueNode(name); at != nil && there != nil && there.Root() == at.Root() {
			list = append(list, leaving...)
		}
	}
	return list
}

// Quota returns the account of all reservations, for questions and trials: what is reserved must be released again.
func (s *Snapshot) Quota() *quota.Tree { return s.quota }

// QueueShare returns the share that a ClusterQueue has of what can be borrowed, zero for one that is unknown (contract:
// kueue-api.md 4.8).
func (s *Status) QueueShare(name string) quota.Share {
	if n := s.quota.QueueNode(name); n != nil {
		return n.Share()
	}
	return quota.Share{}
}

// CohortShare is QueueShare for a cohort.
func (s *Status) CohortShare(name string) quota.Share {
	if n := s.quota.CohortNode(name); n != nil {
		return n.Share()
	}
	return quota.Share{}
}
