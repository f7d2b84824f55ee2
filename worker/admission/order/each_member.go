package order

// EachMember shows every member, with the weight of its group and what decides nearly always about its place there, in no order. It
// reads no member, so that to show many costs little.
func (l *Queue[T, C]) EachMember(see func(weight int64, prefix RankPrefix, m *Member[T, C])) {
	for _, g := range l.groups {
		for _, k := range g.classes {
			for _, s := range k.members.All() {
				see(g.weight, s.prefix, s.member)
			}
		}
	}
}

// StickyHead returns the member that goes first in its group, nil if none does.
func (l *Queue[T, C]) StickyHead() *Member[T, C] { return l.stickyHead }
