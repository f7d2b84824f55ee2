package order

import "iter"

// Parked reports whether the member's kind is parked. The member must be in a line.
func (m *Member[T, R, C]) Parked() bool { return m.kind.parked }

// EachKind shows every kind of every group, in no order: its members, in no order either, their number and whether it is
// parked.
func (l *Line[T, R, C]) EachKind(see func(members iter.Seq[*Member[T, R, C]], n int, parked bool)) {
	for _, g := range l.groups {
		for _, k := range g.kinds {
			see(k.each, k.members.Len(), k.parked)
		}
	}
}

func (k *kind[T, R, C]) each(yield func(*Member[T, R, C]) bool) {
	for _, s := range k.members.All() {
		if !yield(s.member) {
			return
		}
	}
}
