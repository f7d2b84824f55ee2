package order

// Line is the waiting line of one queue. Members of the same kind are interchangeable to the quota: when the first of them
// cannot be admitted, none can, so that they are looked at, parked and woken as one, at a cost that does not depend on
// their number. T is what waits, R the type of the reason it is given, C that of what a parked kind waits for.
//
//	join -> active --Park--> parked --Wake--> active
//	          |  \--Block--> the head and all behind it stay active, but nobody is looked at --Wake--> active
//	          \-> leave
//
// Members belong to groups, too, of which the one with the least weight goes first, whatever the ranks; a line that has no
// use for that puts everybody into the same.
type Line[T any, R comparable, C any] struct {
	name string
	// groups finds a group by name; those that nobody is in are forgotten.
	groups map[string]*group[T, R, C]
	// turns has the groups that somebody active is in.
	turns  *Heap[*group[T, R, C]]
	parked []*kind[T, R, C]
	// blocked is the head that holds up everybody, as long as it is the head, and until what.
	blocked *Member[T, R, C]
	until   C
	// stuck is the member that goes first in its group.
	stuck *Member[T, R, C]
	// news are parked kinds that somebody joined after they were parked.
	news            []*kind[T, R, C]
	nActive, nAside int
}

// Member is a place in a line.
type Member[T any, R comparable, C any] struct {
	Value T
	// Memo is for whoever looks at heads to remember something about this one until it leaves.
	Memo any
	rank Rank
	kind *kind[T, R, C]
	door any
	at   int
	told bool
}

// Rank returns the rank that the member joined with.
func (m *Member[T, R, C]) Rank() Rank { return m.rank }

// KindMemo is for whoever looks at heads to remember something that is true of all members of this one's kind, until the
// last of them leaves. The member must be in a line.
func (m *Member[T, R, C]) KindMemo() *any { return &m.kind.memo }

// Notice is what a member of a line is told about why it waits.
type Notice[R comparable] struct {
	Because R
	Message string
}

// Spot is where in a line a member belongs.
type Spot struct {
	// Group is empty in a line without groups. Members of different groups are never of the same kind.
	Group string
	Kind  string
	// Door is what the member came in by, for EachKind to count; it must be comparable.
	Door any
}

// NewLine returns an empty line.
func NewLine[T any, R comparable, C any](name string) *Line[T, R, C] {
	return &Line[T, R, C]{
		name:   name,
		groups: map[string]*group[T, R, C]{},
		turns: NewHeap(
			(*group[T, R, C]).compare,
			func(g *group[T, R, C], at int) { g.at = at },
		),
	}
}

// Name returns the name given to NewLine: the queue's.
func (l *Line[T, R, C]) Name() string { return l.name }

// Active returns the number of members that are not parked.
func (l *Line[T, R, C]) Active() int { return l.nActive }

// Parked returns the number of members that are parked.
func (l *Line[T, R, C]) Parked() int { return l.nAside }

// Len returns the number of members.
func (l *Line[T, R, C]) Len() int { return l.nActive + l.nAside }

// Groups returns the number of groups that somebody active is in.
func (l *Line[T, R, C]) Groups() int { return l.turns.Len() }

// Join adds a member. It is parked right away if its kind is: News will tell. But a kind that was parked as Ranked becomes
// active for one that ranks before those it was parked for.
func (l *Line[T, R, C]) Join(value T, rank Rank, spot Spot) *Member[T, R, C] {
	g := l.group(spot.Group)
	k, found := g.kinds[spot.Kind]
	if !found {
		k = newKind(g, spot.Kind)
	}
	m := &Member[T, R, C]{Value: value, rank: rank, kind: k, door: spot.Door}
	k.enter(m)
	k.remember(m)
	switch {
	case k.parked && k.Ranked && rank.Compare(k.seen) < 0:
		l.unpark(k)
		l.nAside, l.nActive = l.nAside-(k.members.Len()-1), l.nActive+k.members.Len()
		l.activate(k)
	case k.parked:
		l.nAside++
		l.announce(k)
	case !found:
		l.nActive++
		l.activate(k)
	default:
		l.nActive++
		l.reorder(k)
	}
	return m
}

// Leave removes a member.
func (l *Line[T, R, C]) Leave(m *Member[T, R, C]) {
	k := m.kind
	k.strike(m)
	m.kind = nil
	if l.blocked == m {
		l.blocked = nil
	}
	if l.stuck == m {
		l.stuck = nil
	}
	if k.parked {
		l.nAside--
	} else {
		l.nActive--
	}
	switch empty := k.members.Len() == 0; {
	case empty && k.parked:
		l.unpark(k)
		l.forget(k)
	case empty:
		l.deactivate(k)
		l.forget(k)
	case !k.parked:
		l.reorder(k)
	}
}

// Head returns the member to look at next, nil if there is none: nobody is active, or the head blocks the line.
func (l *Line[T, R, C]) Head() *Member[T, R, C] {
	head := l.first()
	if head == l.blocked {
		return nil
	}
	return head
}

func (l *Line[T, R, C]) first() *Member[T, R, C] {
	if l.turns.Len() == 0 {
		return nil
	}
	g := l.turns.First()
	if l.stuck != nil && l.stuck.kind.group.weight <= g.weight {
		return l.stuck
	}
	return g.lead().member
}

// Stick makes the head go first in its group until it is parked or leaves, whoever joins.
func (l *Line[T, R, C]) Stick() { l.stuck = l.first() }

// Block makes the head hold up the line until Wake, until it leaves or until somebody joins before it. It is told why by
// itself, so that it has yet to be told what its kind was told, when that is parked again.
func (l *Line[T, R, C]) Block(until C) {
	head := l.Head()
	if head == nil {
		return
	}
	l.blocked, l.until = head, until
	if head.told {
		head.told = false
		head.kind.remember(head)
	}
}

// Blocked returns the head that blocks the line, nil if none does.
func (l *Line[T, R, C]) Blocked() *Member[T, R, C] {
	if l.blocked != nil && l.first() == l.blocked {
		return l.blocked
	}
	return nil
}

// Unblock lets the head be looked at again.
func (l *Line[T, R, C]) Unblock() { l.blocked = nil }

// Weigh gives a group its weight, 0 if it was never weighed. Only groups that somebody is in remember it.
func (l *Line[T, R, C]) Weigh(name string, weight int64) {
	g, found := l.groups[name]
	if !found || g.weight == weight {
		return
	}
	g.weight = weight
	if g.active.Len() > 0 {
		l.turns.Fix(g.at)
	}
}

// All returns every member by rank.
func (l *Line[T, R, C]) All() []*Member[T, R, C] {
	all := make([]*Member[T, R, C], 0, l.Len())
	for _, g := range l.groups {
		for _, k := range g.kinds {
			for _, s := range k.members.All() {
				all = append(all, s.member)
			}
		}
	}
	byRank(all)
	return all
}
