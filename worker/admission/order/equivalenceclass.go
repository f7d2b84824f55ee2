package order

import (
	"cmp"
	"slices"
)

// group is the members that take their turn by a weight of their own.
type group[T, C any] struct {
	name    string
	weight  int64
	classes map[string]*EquivalenceClass[T, C]
	// activeClasses has the classes that are not inadmissible.
	activeClasses *Heap[*EquivalenceClass[T, C]]
	// index is the index in the queue's turns.
	index int
}

// EquivalenceClass is the members of a group that the quota cannot tell apart.
type EquivalenceClass[T, C any] struct {
	name    string
	group   *group[T, C]
	members *Heap[heapItem[T, C]]
	// head is the first of members, as long as there are any.
	head           heapItem[T, C]
	isInadmissible bool
	// notificationQueued is whether the class is among the queue's notifications.
	notificationQueued bool
	// index is the index in the group's active heap or the queue's list of inadmissible classes.
	index int
	// lastReason is what the class was told when it was last marked inadmissible.
	lastReason WaitReason
	Inadmissible[C]
	// headRank is the rank of the member that the class was marked inadmissible for.
	headRank Rank
	// origins are what the members came in by. There is room for one.
	origins      []originCount
	originBuffer [1]originCount
	// unnotified has all members that were not told said.Because yet, and possibly some that were or that left.
	unnotified []*Member[T, C]
}

// heapItem is a member in a heap, with its mark at hand.
type heapItem[T, C any] struct {
	prefix RankPrefix
	member *Member[T, C]
}

func (s heapItem[T, C]) compare(other heapItem[T, C]) int {
	if c := s.prefix.Compare(other.prefix); c != 0 {
		return c
	}
	return s.member.rank.Compare(other.member.rank)
}

func (g *group[T, C]) head() heapItem[T, C] { return g.activeClasses.First().head }

func (g *group[T, C]) compare(other *group[T, C]) int {
	if c := cmp.Compare(g.weight, other.weight); c != 0 {
		return c
	}
	return g.head().compare(other.head())
}

// ensureGroup finds the group of that name or makes one.
func (l *Queue[T, C]) ensureGroup(name string) *group[T, C] {
	if g, found := l.groups[name]; found {
		return g
	}
	g := &group[T, C]{name: name, classes: map[string]*EquivalenceClass[T, C]{}, activeClasses: NewHeap(
		func(a, b *EquivalenceClass[T, C]) int { return a.head.compare(b.head) },
		func(k *EquivalenceClass[T, C], at int) { k.index = at },
	)}
	l.groups[name] = g
	return g
}

func newEquivalenceClass[T, C any](g *group[T, C], name string) *EquivalenceClass[T, C] {
	k := &EquivalenceClass[T, C]{name: name, group: g, members: NewHeap(
		heapItem[T, C].compare,
		func(s heapItem[T, C], at int) { s.member.index = at },
	)}
	k.origins = k.originBuffer[:0]
	g.classes[name] = k
	return k
}

// Len returns the number of members. A class without members has left its queue for good.
func (k *EquivalenceClass[T, C]) Len() int { return k.members.Len() }

func (k *EquivalenceClass[T, C]) add(m *Member[T, C]) {
	k.members.Push(heapItem[T, C]{prefix: m.rank.Prefix(), member: m})
	k.countOrigin(m.origin, 1)
	k.head = k.members.First()
}

func (k *EquivalenceClass[T, C]) remove(m *Member[T, C]) {
	k.members.Remove(m.index)
	k.countOrigin(m.origin, -1)
	k.head = heapItem[T, C]{}
	if k.members.Len() > 0 {
		k.head = k.members.First()
	}
}

// removeClass drops a class without members.
func (l *Queue[T, C]) removeClass(k *EquivalenceClass[T, C]) {
	g := k.group
	delete(g.classes, k.name)
	if len(g.classes) == 0 && g.name != "" {
		delete(l.groups, g.name)
	}
}

// activateClass puts a class that has members among those whose turn comes.
func (l *Queue[T, C]) activateClass(k *EquivalenceClass[T, C]) {
	g := k.group
	g.activeClasses.Push(k)
	if g.activeClasses.Len() == 1 {
		l.activeGroups.Push(g)
	} else if k.index == 0 {
		l.activeGroups.Fix(g.index)
	}
}

// deactivateClass takes a class out of the order of active ones, and its group as well if it has no other.
func (l *Queue[T, C]) deactivateClass(k *EquivalenceClass[T, C]) {
	g := k.group
	if g.activeClasses.Len() == 1 {
		// The group leaves before the class, by whose first member it is compared; but a class may be empty by now, so that
		// nothing is compared with it: removing moves only others.
		l.activeGroups.Remove(g.index)
		g.activeClasses.Remove(k.index)
		return
	}
	wasFirst := k.index == 0
	g.activeClasses.Remove(k.index)
	if wasFirst {
		l.activeGroups.Fix(g.index)
	}
}

// reorderClass takes in that another member of an active class may be its first now.
func (l *Queue[T, C]) reorderClass(k *EquivalenceClass[T, C]) {
	g := k.group
	wasFirst := k.index == 0
	g.activeClasses.Fix(k.index)
	if wasFirst || k.index == 0 {
		l.activeGroups.Fix(g.index)
	}
}

// addUnnotified notes that a member is still to be told, dropping those that left once they are the majority.
func (k *EquivalenceClass[T, C]) addUnnotified(m *Member[T, C]) {
	if len(k.unnotified) > 16+2*k.members.Len() {
		k.unnotified = slices.DeleteFunc(k.unnotified, func(m *Member[T, C]) bool { return m.class != k || m.notified })
	}
	k.unnotified = append(k.unnotified, m)
}

// resetNotified marks all members of the class as not yet notified.
func (k *EquivalenceClass[T, C]) resetNotified() {
	k.unnotified = k.unnotified[:0]
	for _, s := range k.members.All() {
		s.member.notified = false
		k.unnotified = append(k.unnotified, s.member)
	}
}

// takeUnnotified returns those not told yet by rank and takes them for told.
func (k *EquivalenceClass[T, C]) takeUnnotified() []*Member[T, C] {
	members := make([]*Member[T, C], 0, len(k.unnotified))
	for _, m := range k.unnotified {
		if m.class == k && !m.notified {
			m.notified = true
			members = append(members, m)
		}
	}
	clear(k.unnotified)
	k.unnotified = k.unnotified[:0]
	sortByRank(members)
	return members
}

func sortByRank[T, C any](members []*Member[T, C]) {
	slices.SortFunc(members, func(a, b *Member[T, C]) int {
		return a.rank.Compare(b.rank)
	})
}
