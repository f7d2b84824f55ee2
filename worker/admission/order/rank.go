// Package order knows which workload is next: the rank of a workload within its queue, the order among the heads of queues,
// and the pending workloads of a queue, with those that nothing can be done for set aside as inadmissible.
//
// Every order here is strict and total as long as UIDs differ, so that no outcome depends on how things were inserted.
package order

import (
	"cmp"
	"time"
)

// Rank is a workload's place in its queue (contract: kueue-api.md 4.2).
type Rank struct {
	// Priority is the effective priority; the higher, the earlier.
	Priority int32
	// QueuedAt is the queue-order timestamp; the older, the earlier.
	QueuedAt time.Time
	// UID decides between equals.
	UID string
}

// Compare is negative if r comes before other.
func (r Rank) Compare(other Rank) int {
	if c := cmp.Compare(other.Priority, r.Priority); c != 0 {
		return c
	}
	if c := r.QueuedAt.Compare(other.QueuedAt); c != 0 {
		return c
	}
	return cmp.Compare(r.UID, other.UID)
}

// RankPrefix is the part of a rank that decides nearly always. Heaps keep it beside their pointers, because a comparison costs
// less than fetching what is compared.
type RankPrefix struct {
	priority int32
	nanos    int32
	seconds  int64
	// uidPrefix is how the UID begins.
	uidPrefix uint64
}

// Prefix returns the rank's mark.
func (r Rank) Prefix() RankPrefix {
	m := RankPrefix{priority: r.Priority, nanos: int32(r.QueuedAt.Nanosecond()), seconds: r.QueuedAt.Unix()}
	for i := range min(8, len(r.UID)) {
		m.uidPrefix |= uint64(r.UID[i]) << (56 - 8*i)
	}
	return m
}

// Compare is negative if whatever has the mark m comes before whatever has the other; 0 if only their ranks can tell.
func (m RankPrefix) Compare(other RankPrefix) int {
	switch {
	case m.priority != other.priority:
		return cmp.Compare(other.priority, m.priority)
	case m.seconds != other.seconds:
		return cmp.Compare(m.seconds, other.seconds)
	case m.nanos != other.nanos:
		return cmp.Compare(m.nanos, other.nanos)
	}
	return cmp.Compare(m.uidPrefix, other.uidPrefix)
}

// HeadKey is a head that could be admitted, now or once others have left, as it competes with the heads of other queues.
type HeadKey struct {
	// Preferred puts the head before all that do not have it.
	Preferred bool
	// BorrowingHeight is the height of the subtree whose quota the head needs.
	BorrowingHeight int
	Rank
}

// CompareHeads orders heads: lower borrowing height, then rank (contract: kueue-api.md 4.3). Fair sharing, when it is enabled,
// puts a tournament in its place.
func CompareHeads(a, b HeadKey) int {
	if a.Preferred != b.Preferred {
		if a.Preferred {
			return -1
		}
		return 1
	}
	if c := cmp.Compare(a.BorrowingHeight, b.BorrowingHeight); c != 0 {
		return c
	}
	return a.Rank.Compare(b.Rank)
}
