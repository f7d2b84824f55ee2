package order

import (
	"cmp"
	"slices"
)

// group is the members that take their turn by a weight of their own.
type group[T any, R comparable, C any] struct {
	name   string
	weight int64
	kinds  map[string]*kind[T, R, C]
	// active has the kinds that are not parked.
	active *Heap[*kind[T, R, C]]
	// at is the index in the line's turns.
	at int
}

// kind is the members of a group that the quota cannot tell apart.
type kind[T any, R comparable, C any] struct {
	name    string
	group   *group[T, R, C]
	members *Heap[seat[T, R, C]]
	// lead is the first of members, as long as there are any.
	lead   seat[T, R, C]
	parked bool
	// announced is whether the kind is among the line's news.
	announced bool
	// at is the index in the group's active heap or the line's parked list.
	at int
	// said is what the kind was told when it was last parked.
	said Notice[R]
	Aside[C]
	// memo is for whoever looks at heads, see Member.KindMemo.
	memo any
	// seen is the rank of the member that the kind was parked for.
	seen Rank
	// doors are what the members came in by. There is room for one.
	doors []door
	room  [1]door
	// fresh has all members that were not told said.Because yet, and possibly some that were or that left.
	fresh []*Member[T, R, C]
}

// seat is a member in a heap, with its mark at hand.
type seat[T any, R comparable, C any] struct {
	mark   Mark
	member *Member[T, R, C]
}

func (s seat[T, R, C]) compare(other seat[T, R, C]) int {
	if c := s.mark.Compare(other.mark); c != 0 {
		return c
	}
	return s.member.rank.Compare(other.member.rank)
}

func (g *group[T, R, C]) lead() seat[T, R, C] { return g.active.First().lead }

func (g *group[T, R, C]) compare(other *group[T, R, C]) int {
	if c := cmp.Compare(g.weight, other.weight); c != 0 {
		return c
	}
	return g.lead().compare(other.lead())
}

// group finds the group of that name or makes one.
func (l *Line[T, R, C]) group(name string) *group[T, R, C] {
	if g, found := l.groups[name]; found {
		return g
	}
	g := &group[T, R, C]{name: name, kinds: map[string]*kind[T, R, C]{}, active: NewHeap(
		func(a, b *kind[T, R, C]) int { return a.lead.compare(b.lead) },
		func(k *kind[T, R, C], at int) { k.at = at },
	)}
	l.groups[name] = g
	return g
}

func newKind[T any, R comparable, C any](g *group[T, R, C], name string) *kind[T, R, C] {
	k := &kind[T, R, C]{name: name, group: g, members: NewHeap(
		seat[T, R, C].compare,
		func(s seat[T, R, C], at int) { s.member.at = at },
	)}
	k.doors = k.room[:0]
	g.kinds[name] = k
	return k
}

func (k *kind[T, R, C]) enter(m *Member[T, R, C]) {
	k.members.Push(seat[T, R, C]{mark: m.rank.Mark(), member: m})
	k.come(m.door, 1)
	k.lead = k.members.First()
}

func (k *kind[T, R, C]) strike(m *Member[T, R, C]) {
	k.members.Remove(m.at)
	k.come(m.door, -1)
	k.lead = seat[T, R, C]{}
	if k.members.Len() > 0 {
		k.lead = k.members.First()
	}
}

// forget drops a kind that nobody is of any more.
func (l *Line[T, R, C]) forget(k *kind[T, R, C]) {
	g := k.group
	delete(g.kinds, k.name)
	if len(g.kinds) == 0 && g.name != "" {
		delete(l.groups, g.name)
	}
}

// activate puts a kind that has members among those whose turn comes.
func (l *Line[T, R, C]) activate(k *kind[T, R, C]) {
	g := k.group
	g.active.Push(k)
	if g.active.Len() == 1 {
		l.turns.Push(g)
	} else if k.at == 0 {
		l.turns.Fix(g.at)
	}
}

func (l *Line[T, R, C]) deactivate(k *kind[T, R, C]) {
	g := k.group
	if g.active.Len() == 1 {
		// The group leaves before the kind, by whose first member it is compared; but a kind may be empty by now, so that
		// nothing is compared with it: removing moves only others.
		l.turns.Remove(g.at)
		g.active.Remove(k.at)
		return
	}
	wasFirst := k.at == 0
	g.active.Remove(k.at)
	if wasFirst {
		l.turns.Fix(g.at)
	}
}

// reorder takes in that another member of an active kind may be its first now.
func (l *Line[T, R, C]) reorder(k *kind[T, R, C]) {
	g := k.group
	wasFirst := k.at == 0
	g.active.Fix(k.at)
	if wasFirst || k.at == 0 {
		l.turns.Fix(g.at)
	}
}

// remember notes that a member is still to be told, dropping those that left once they are the majority.
func (k *kind[T, R, C]) remember(m *Member[T, R, C]) {
	if len(k.fresh) > 16+2*k.members.Len() {
		k.fresh = slices.DeleteFunc(k.fresh, func(m *Member[T, R, C]) bool { return m.kind != k || m.told })
	}
	k.fresh = append(k.fresh, m)
}

// distrust makes everybody of the kind one to be told.
func (k *kind[T, R, C]) distrust() {
	k.fresh = k.fresh[:0]
	for _, s := range k.members.All() {
		s.member.told = false
		k.fresh = append(k.fresh, s.member)
	}
}

// tell returns those not told yet by rank and takes them for told.
func (k *kind[T, R, C]) tell() []*Member[T, R, C] {
	members := make([]*Member[T, R, C], 0, len(k.fresh))
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

func byRank[T any, R comparable, C any](members []*Member[T, R, C]) {
	slices.SortFunc(members, func(a, b *Member[T, R, C]) int {
		return a.rank.Compare(b.rank)
	})
}
