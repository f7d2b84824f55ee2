package order

// Parked reports whether the member's kind is parked. The member must be in a line.
func (m *Member[T, R, C]) Parked() bool { return m.kind.parked }

// EachKind shows every kind of every group, in no order: its members, in no order either, and whether it is parked. The
// slice must not be changed or kept.
func (l *Line[T, R, C]) EachKind(see func(members []*Member[T, R, C], parked bool)) {
	for _, g := range l.groups {
		for _, k := range g.kinds {
			see(k.members.All(), k.parked)
		}
	}
}
