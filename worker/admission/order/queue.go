package order

// Queue holds the pending workloads of one ClusterQueue. Members of the same equivalence class are interchangeable to the quota: when the
// first of them cannot be admitted, none can. So they are looked at, marked inadmissible and requeued as one, at a cost that does not
// depend on their number. T is what waits, C the type of the condition under which an inadmissible class is requeued.
//
//	Push -> active --MarkInadmissible--> inadmissible --Requeue--> active
//	          |  \--BlockOnHead--> the head and all behind it stay active, but none is looked at --Requeue--> active
//	          \-> Remove
//
// Members belong to groups, too, of which the one with the least weight goes first, whatever the ranks; a queue that does not
// use groups puts all members into the same.
type Queue[T, C any] struct {
	name string
	// groups finds a group by name; empty groups are forgotten.
	groups map[string]*group[T, C]
	// activeGroups has the groups with active members.
	activeGroups        *Heap[*group[T, C]]
	inadmissibleClasses []*EquivalenceClass[T, C]
	// blockingHead is the head that holds up the queue, as long as it is the head, and until what.
	blockingHead *Member[T, C]
	blockedUntil C
	// stickyHead is the member that goes first in its group.
	stickyHead *Member[T, C]
	// classesToNotify are inadmissible classes that got members after they became inadmissible.
	classesToNotify                []*EquivalenceClass[T, C]
	activeCount, inadmissibleCount int
}

// Member is a place in a queue.
type Member[T, C any] struct {
	Value    T
	rank     Rank
	class    *EquivalenceClass[T, C]
	origin   any
	index    int
	notified bool
}

// Rank returns the rank that the member joined with.
func (m *Member[T, C]) Rank() Rank { return m.rank }

// IsQueued reports whether the member is still in its queue.
func (m *Member[T, C]) IsQueued() bool { return m.class != nil }

// Class returns the member's equivalence class. The member must be in a queue.
func (m *Member[T, C]) Class() *EquivalenceClass[T, C] { return m.class }

// Reason is a reason for a condition: a CamelCase word of the public API.
type Reason string

// WaitReason is what a member of a line is told about why it waits.
type WaitReason struct {
	Reason  Reason
	Message string
}

// Membership is where in a queue a member belongs.
type Membership struct {
	// Group is empty in a queue without groups. Members of different groups are never of the same class.
	Group string
	Class string
	// Origin is what the member came in by, for EachKind to count; it must be comparable.
	Origin any
}

// NewQueue returns an empty line.
func NewQueue[T, C any](name string) *Queue[T, C] {
	return &Queue[T, C]{
		name:   name,
		groups: map[string]*group[T, C]{},
		activeGroups: NewHeap(
			(*group[T, C]).compare,
			func(g *group[T, C], at int) { g.index = at },
		),
	}
}

// Name returns the name given to NewQueue: the queue's.
func (l *Queue[T, C]) Name() string { return l.name }

// PendingActive returns the number of members that are not inadmissible.
func (l *Queue[T, C]) PendingActive() int { return l.activeCount }

// PendingInadmissible returns the number of members that are inadmissible.
func (l *Queue[T, C]) PendingInadmissible() int { return l.inadmissibleCount }

// Len returns the number of members.
func (l *Queue[T, C]) Len() int { return l.activeCount + l.inadmissibleCount }

// ActiveGroupCount returns the number of groups with active members.
func (l *Queue[T, C]) ActiveGroupCount() int { return l.activeGroups.Len() }

// Push adds a member. It is inadmissible right away if its class is: News will tell. But a class that was marked inadmissible as Ranked becomes
// active for one that ranks before those it was marked inadmissible for.
func (l *Queue[T, C]) Push(value T, rank Rank, spot Membership) *Member[T, C] {
	g := l.ensureGroup(spot.Group)
	k, found := g.classes[spot.Class]
	if !found {
		k = newEquivalenceClass(g, spot.Class)
	}
	m := &Member[T, C]{Value: value, rank: rank, class: k, origin: spot.Origin}
	k.add(m)
	k.addUnnotified(m)
	switch {
	case k.isInadmissible && k.RankSensitive && rank.Compare(k.headRank) < 0:
		l.removeInadmissible(k)
		l.inadmissibleCount, l.activeCount = l.inadmissibleCount-(k.members.Len()-1), l.activeCount+k.members.Len()
		l.activateClass(k)
	case k.isInadmissible:
		l.inadmissibleCount++
		l.queueNotification(k)
	case !found:
		l.activeCount++
		l.activateClass(k)
	default:
		l.activeCount++
		l.reorderClass(k)
	}
	return m
}

// Remove removes a member.
func (l *Queue[T, C]) Remove(m *Member[T, C]) {
	k := m.class
	k.remove(m)
	m.class = nil
	if l.blockingHead == m {
		l.blockingHead = nil
	}
	if l.stickyHead == m {
		l.stickyHead = nil
	}
	if k.isInadmissible {
		l.inadmissibleCount--
	} else {
		l.activeCount--
	}
	switch empty := k.members.Len() == 0; {
	case empty && k.isInadmissible:
		l.removeInadmissible(k)
		l.removeClass(k)
	case empty:
		l.deactivateClass(k)
		l.removeClass(k)
	case !k.isInadmissible:
		l.reorderClass(k)
	}
}

// Head returns the member to look at next, nil if there is none: no member is active, or the head blocks the queue.
func (l *Queue[T, C]) Head() *Member[T, C] {
	head := l.firstActive()
	if head == l.blockingHead {
		return nil
	}
	return head
}

// firstActive returns the active member that comes first: the sticky head, unless a group of less weight goes before it.
func (l *Queue[T, C]) firstActive() *Member[T, C] {
	if l.activeGroups.Len() == 0 {
		return nil
	}
	g := l.activeGroups.First()
	if l.stickyHead != nil && l.stickyHead.class.group.weight <= g.weight {
		return l.stickyHead
	}
	return g.head().member
}

// MakeHeadSticky makes the head go first in its group until it is inadmissible or leaves, whatever joins.
func (l *Queue[T, C]) MakeHeadSticky() { l.stickyHead = l.firstActive() }

// BlockOnHead makes the head block the queue until a requeue, until it leaves or until a member joins before it. The head got
// its reason by itself. So it has yet to get the reason of its class when that becomes inadmissible again.
func (l *Queue[T, C]) BlockOnHead(until C) {
	head := l.Head()
	if head == nil {
		return
	}
	l.blockingHead, l.blockedUntil = head, until
	if head.notified {
		head.notified = false
		head.class.addUnnotified(head)
	}
}

// BlockingHead returns the head that blocks the queue, nil if none does.
func (l *Queue[T, C]) BlockingHead() *Member[T, C] {
	if l.blockingHead != nil && l.firstActive() == l.blockingHead {
		return l.blockingHead
	}
	return nil
}

// Unblock lets the head be looked at again.
func (l *Queue[T, C]) Unblock() { l.blockingHead = nil }

// SetGroupWeight gives a group its weight, 0 if it was never weighed. Empty groups forget it.
func (l *Queue[T, C]) SetGroupWeight(name string, weight int64) {
	g, found := l.groups[name]
	if !found || g.weight == weight {
		return
	}
	g.weight = weight
	if g.activeClasses.Len() > 0 {
		l.activeGroups.Fix(g.index)
	}
}

// All returns every member by rank.
func (l *Queue[T, C]) All() []*Member[T, C] {
	all := make([]*Member[T, C], 0, l.Len())
	for _, g := range l.groups {
		for _, k := range g.classes {
			for _, s := range k.members.All() {
				all = append(all, s.member)
			}
		}
	}
	sortByRank(all)
	return all
}
