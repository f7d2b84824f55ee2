package order

import (
	"slices"
)

// Line is the waiting line of one queue. Members of the same kind are interchangeable to the quota: when the first of them
// cannot be admitted, none can, so that they are looked at, parked and woken as one, at a cost that does not depend on
// their number. T is what waits, R the type of the reason it is given.
//
//	join -> active --Park--> parked --Wake--> active
//	          |  \--Block--> the head and all behind it stay active, but nobody is looked at --Wake--> active
//	          \-> leave
type Line[T any, R comparable] struct {
	name   string
	kinds  map[string]*kind[T, R]
	active *Heap[*kind[T, R]]
	parked []*kind[T, R]
	// blocked is the head that holds up everybody, as long as it is the head.
	blocked *Member[T, R]
	// news are parked kinds that somebody joined after they were parked.
	news            []*kind[T, R]
	nActive, nAside int
}

// Member is a place in a line.
type Member[T any, R comparable] struct {
	Value T
	// Memo is for whoever looks at heads to remember something about this one until it leaves.
	Memo any
	rank Rank
	kind *kind[T, R]
	at   int
	told bool
}

// Rank returns the rank that the member joined with.
func (m *Member[T, R]) Rank() Rank { return m.rank }

// Kind returns the kind that the member joined with.
func (m *Member[T, R]) Kind() string { return m.kind.name }

// Notice is what a member of a line is told about why it waits.
type Notice[R comparable] struct {
	Because R
	Message string
}

// kind is the members that the quota cannot tell apart.
type kind[T any, R comparable] struct {
	name    string
	members *Heap[*Member[T, R]]
	parked  bool
	// announced is whether the kind is among the line's news.
	announced bool
	// at is the index in the line's active heap or parked list.
	at int
	// said is what the kind was told when it was last parked.
	said Notice[R]
	// fresh has all members that were not told said.Because yet, and possibly some that were or that left.
	fresh []*Member[T, R]
}

// NewLine returns an empty line.
func NewLine[T any, R comparable](name string) *Line[T, R] {
	first := func(k *kind[T, R]) Rank { return k.members.First().rank }
	return &Line[T, R]{
		name:  name,
		kinds: map[string]*kind[T, R]{},
		active: NewHeap(
			func(a, b *kind[T, R]) int { return first(a).Compare(first(b)) },
			func(k *kind[T, R], at int) { k.at = at },
		),
	}
}

// Name returns the name given to NewLine: the queue's.
func (l *Line[T, R]) Name() string { return l.name }

// Active returns the number of members that are not parked.
func (l *Line[T, R]) Active() int { return l.nActive }

// Parked returns the number of members that are parked.
func (l *Line[T, R]) Parked() int { return l.nAside }

// Len returns the number of members.
func (l *Line[T, R]) Len() int { return l.nActive + l.nAside }

// Join adds a member. It is parked right away if its kind is: News will tell.
func (l *Line[T, R]) Join(value T, rank Rank, kindName string) *Member[T, R] {
	k, found := l.kinds[kindName]
	if !found {
		k = newKind[T, R](kindName)
		l.kinds[kindName] = k
	}
	m := &Member[T, R]{Value: value, rank: rank, kind: k}
	k.members.Push(m)
	k.remember(m)
	switch {
	case k.parked:
		l.nAside++
		l.announce(k)
	case !found:
		l.nActive++
		l.active.Push(k)
	default:
		l.nActive++
		l.active.Fix(k.at)
	}
	return m
}

// Leave removes a member.
func (l *Line[T, R]) Leave(m *Member[T, R]) {
	k := m.kind
	k.members.Remove(m.at)
	m.kind = nil
	if l.blocked == m {
		l.blocked = nil
	}
	if k.parked {
		l.nAside--
	} else {
		l.nActive--
	}
	switch empty := k.members.Len() == 0; {
	case empty && k.parked:
		l.unpark(k)
		delete(l.kinds, k.name)
	case empty:
		l.active.Remove(k.at)
		delete(l.kinds, k.name)
	case !k.parked:
		l.active.Fix(k.at)
	}
}

// Head returns the member to look at next, nil if there is none: nobody is active, or the head blocks the line.
func (l *Line[T, R]) Head() *Member[T, R] {
	if l.active.Len() == 0 {
		return nil
	}
	head := l.active.First().members.First()
	if head == l.blocked {
		return nil
	}
	return head
}

// Block makes the head hold up the line until Wake, until it leaves or until somebody joins before it.
func (l *Line[T, R]) Block() {
	if head := l.Head(); head != nil {
		l.blocked = head
	}
}

// Park takes the head and all of its kind aside until Wake. It returns those to be told: the head and everybody of its
// kind that was not told the same reason before, by rank. The line must have a head.
func (l *Line[T, R]) Park(n Notice[R]) []*Member[T, R] {
	head := l.Head()
	k := head.kind
	l.active.Remove(k.at)
	k.parked, k.at = true, len(l.parked)
	l.parked = append(l.parked, k)
	l.nActive -= k.members.Len()
	l.nAside += k.members.Len()
	if k.said.Because != n.Because {
		k.forget()
	}
	k.said = n
	head.told = false
	k.fresh = append(k.fresh, head)
	return k.tell()
}

// Wake makes everybody active again and unblocks the line.
func (l *Line[T, R]) Wake() {
	l.blocked = nil
	for _, k := range l.parked {
		k.parked = false
		l.active.Push(k)
	}
	clear(l.parked)
	l.parked = l.parked[:0]
	l.nActive, l.nAside = l.nActive+l.nAside, 0
}

// HasNews reports whether News would return something.
func (l *Line[T, R]) HasNews() bool {
	return slices.ContainsFunc(l.news, func(k *kind[T, R]) bool { return k.parked })
}

// Told is a notice and the members it goes to, by rank.
type Told[T any, R comparable] struct {
	Notice[R]
	Members []*Member[T, R]
}

// News returns those who joined kinds that were parked already, with what their kind was told, and forgets them.
func (l *Line[T, R]) News() []Told[T, R] {
	var told []Told[T, R]
	for _, k := range l.news {
		k.announced = false
		if !k.parked {
			continue
		}
		if members := k.tell(); len(members) > 0 {
			told = append(told, Told[T, R]{Notice: k.said, Members: members})
		}
	}
	clear(l.news)
	l.news = l.news[:0]
	return told
}

// All returns every member by rank.
func (l *Line[T, R]) All() []*Member[T, R] {
	all := make([]*Member[T, R], 0, l.Len())
	for _, k := range l.kinds {
		all = append(all, k.members.All()...)
	}
	byRank(all)
	return all
}

func (l *Line[T, R]) announce(k *kind[T, R]) {
	if !k.announced {
		k.announced = true
		l.news = append(l.news, k)
	}
}

func (l *Line[T, R]) unpark(k *kind[T, R]) {
	last := l.parked[len(l.parked)-1]
	l.parked[k.at], last.at = last, k.at
	clear(l.parked[len(l.parked)-1:])
	l.parked = l.parked[:len(l.parked)-1]
	k.parked = false
}

func newKind[T any, R comparable](name string) *kind[T, R] {
	return &kind[T, R]{name: name, members: NewHeap(
		func(a, b *Member[T, R]) int { return a.rank.Compare(b.rank) },
		func(m *Member[T, R], at int) { m.at = at },
	)}
}

// remember notes that a member is still to be told, dropping those that left once they are the majority.
func (k *kind[T, R]) remember(m *Member[T, R]) {
	if len(k.fresh) > 16+2*k.members.Len() {
		k.fresh = slices.DeleteFunc(k.fresh, func(m *Member[T, R]) bool { return m.kind != k || m.told })
	}
	k.fresh = append(k.fresh, m)
}

// forget makes everybody of the kind one to be told.
func (k *kind[T, R]) forget() {
	k.fresh = append(k.fresh[:0], k.members.All()...)
	for _, m := range k.fresh {
		m.told = false
	}
}

// tell returns those not told yet by rank and takes them for told.
func (k *kind[T, R]) tell() []*Member[T, R] {
	members := make([]*Member[T, R], 0, len(k.fresh))
	for _, m := range k.fresh {
		if m.kind == k && !m.told {
			m.told = true
			members = append(members, m)
		}
	}
	clear(k.fresh)
	k.fresh = k.fresh[:0]
	byRank(members)
	return members
}

func byRank[T any, R comparable](members []*Member[T, R]) {
	slices.SortFunc(members, func(a, b *Member[T, R]) int {
		return a.rank.Compare(b.rank)
	})
}
