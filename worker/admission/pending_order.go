package admission

import (
	"slices"

	"switchyard.dev/worker/admission/order"
)

// manyEqual is from how many entries on it pays to sort by keys.
const manyEqual = 256

// PendingOrder is what waits in a ClusterQueue at one moment, inadmissible workloads included. To take it costs no more than a copy of
// what the queue knows about places; List puts it in order, and needs the snapshot no more.
type PendingOrder struct {
	entries []pendingEntry
	// sticky goes first among those of its usage; nil for none.
	sticky *QueueMember
}

// pendingEntry is a workload in the line or, if it has no place there, in a backoff.
type pendingEntry struct {
	usage      int64
	prefix     order.RankPrefix
	member     *QueueMember
	backingOff *PendingWorkload
}

func (e *pendingEntry) pending() *PendingWorkload {
	if e.member != nil {
		return e.member.Value
	}
	return e.backingOff
}

func (e *pendingEntry) workload() *Workload { return &e.pending().Workload }

// NewPendingOrder makes room for so many workloads.
func NewPendingOrder(room int) *PendingOrder {
	return &PendingOrder{entries: make([]pendingEntry, 0, room)}
}

// PendingCount returns how many workloads wait in a ClusterQueue.
func (s *Status) PendingCount(queue string) int {
	return s.queues.lookupQueueState(queue).counters.pending
}

// TakePending puts what waits in a ClusterQueue into an order without any, which has room for it if it was made for PendingCount.
func (s *Status) TakePending(queue string, into *PendingOrder) {
	d := s.queues.lookupQueueState(queue)
	if d.pendingQueue != nil {
		d.pendingQueue.EachMember(func(usage int64, prefix order.RankPrefix, m *QueueMember) {
			into.entries = append(into.entries, pendingEntry{usage: usage, prefix: prefix, member: m})
		})
		into.sticky = d.pendingQueue.StickyHead()
	}
	if d.counters.backingOff > 0 {
		for _, e := range s.backingOff.All() {
			if e.queueState == d {
				into.entries = append(into.entries, pendingEntry{
					usage: int64(s.usage.usageOrder(&e.Workload)), prefix: e.rank().Prefix(), backingOff: e,
				})
			}
		}
	}
}

// ListPending lists the workloads that wait in a ClusterQueue in the order in which it looks at them, inadmissible ones included; a
// workload's position is its index (contract: kueue-api.md 1.17, 4.2).
func (s *Status) ListPending(queue string) []Workload {
	p := NewPendingOrder(s.PendingCount(queue))
	s.TakePending(queue, p)
	sorted := p.List(nil)
	list := make([]Workload, 0, sorted.Len())
	for i := range sorted.Len() {
		list = append(list, *sorted.At(i))
	}
	return list
}

// PendingList is the workloads of a PendingOrder in the order of ListPending. It reads a workload only when it is asked for.
type PendingList struct {
	entries []pendingEntry
	indexes []int32
}

// Len returns how many workloads there are.
func (l *PendingList) Len() int { return len(l.indexes) }

// At returns the workload at a position. It must not be changed.
func (l *PendingList) At(position int) *Workload { return l.entries[l.indexes[position]].workload() }

// LocalQueueOrdinals numbers the LocalQueues of the workloads, and returns that of each position, and the LocalQueues by number. It
// reads each workload once, and in the order in which they lie in memory rather than in the list's.
func (l *PendingList) LocalQueueOrdinals() (ordinals []int32, localQueues []Key) {
	numbers, last := map[*localQueueState]int32{}, (*localQueueState)(nil)
	number := int32(-1)
	ofEntries := make([]int32, len(l.entries))
	for i := range l.entries {
		if local := l.entries[i].pending().localQueueState; local != last {
			known, found := numbers[local]
			if !found {
				known = int32(len(localQueues))
				numbers[local], localQueues = known, append(localQueues, local.key)
			}
			number, last = known, local
		}
		ofEntries[i] = number
	}
	ordinals = make([]int32, len(l.indexes))
	for position, i := range l.indexes {
		ordinals[position] = ofEntries[i]
	}
	return ordinals, localQueues
}

// List puts the workloads in order, without those that came through a LocalQueue that closed reports; nil if none is.
func (p *PendingOrder) List(closed func(local Key) bool) *PendingList {
	l := &PendingList{entries: p.entries, indexes: p.sorted()}
	if closed != nil {
		l.indexes = slices.DeleteFunc(l.indexes, func(i int32) bool { return closed(p.entries[i].workload().localQueueKey()) })
	}
	return l
}

// sorted returns the indexes of the entries in their order.
func (p *PendingOrder) sorted() []int32 {
	keys := p.keys()
	order.SortKeys(keys)
	eachEqual(keys, p.sortEqual)
	indexes := make([]int32, len(keys))
	for i, k := range keys {
		indexes[i] = k.Index
	}
	return indexes
}

// sortEqual puts entries with the same key in order: by keys of the rest where there are many, and then by comparison.
func (p *PendingOrder) sortEqual(keys []order.Key) {
	if len(keys) < manyEqual {
		slices.SortFunc(keys, p.compareEqual)
		return
	}
	for i, k := range keys {
		keys[i] = p.entries[k.Index].prefix.Rest(k.Index)
	}
	order.SortKeys(keys)
	eachEqual(keys, func(equal []order.Key) { slices.SortFunc(equal, p.compareEqual) })
}

func (p *PendingOrder) compareEqual(a, b order.Key) int {
	x, y := &p.entries[a.Index], &p.entries[b.Index]
	if c := x.prefix.Compare(y.prefix); c != 0 {
		return c
	}
	return x.workload().rank().Compare(y.workload().rank())
}

// eachEqual shows each run of equal keys.
func eachEqual(keys []order.Key, see func([]order.Key)) {
	for begin := 0; begin < len(keys); {
		end := begin + 1
		for end < len(keys) && keys[end].High == keys[begin].High && keys[end].Low == keys[begin].Low {
			end++
		}
		if end > begin+1 {
			see(keys[begin:end])
		}
		begin = end
	}
}

// keys returns the key of each entry.
func (p *PendingOrder) keys() []order.Key {
	groups := p.groups()
	keys := make([]order.Key, len(p.entries))
	for i := range p.entries {
		e := &p.entries[i]
		group := groups[e.usage]
		if e.member != nil && e.member == p.sticky {
			keys[i] = order.FirstKey(group, int32(i))
		} else {
			keys[i] = e.prefix.Key(group, int32(i))
		}
	}
	return keys
}

// groups numbers the different usages, the least first.
func (p *PendingOrder) groups() map[int64]uint32 {
	groups := map[int64]uint32{}
	var usages []int64
	for i := range p.entries {
		if usage := p.entries[i].usage; i == 0 || usage != p.entries[i-1].usage {
			if _, known := groups[usage]; !known {
				groups[usage] = 0
				usages = append(usages, usage)
			}
		}
	}
	slices.Sort(usages)
	for i, usage := range usages {
		groups[usage] = uint32(i)
	}
	return groups
}
