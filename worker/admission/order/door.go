package order

import "iter"

// door is something that members of a kind came in by, and how many did.
type door struct {
	by any
	n  int
}

// come counts one more (by 1) or one fewer (by -1) of those who came in by a door. The door that was used last stands first:
// members that come or go together often share theirs.
func (k *kind[T, R, C]) come(in any, by int) {
	at := 0
	for at < len(k.doors) && k.doors[at].by != in {
		at++
	}
	if at == len(k.doors) {
		k.doors = append(k.doors, door{by: in})
	}
	k.doors[0], k.doors[at] = k.doors[at], k.doors[0]
	if k.doors[0].n += by; k.doors[0].n == 0 {
		last := len(k.doors) - 1
		k.doors[0], k.doors[last] = k.doors[last], door{}
		k.doors = k.doors[:last]
	}
}

// KindCount is how many members of one kind there are.
type KindCount[T any, R comparable, C any] struct {
	// First is the first of them.
	First  *Member[T, R, C]
	Len    int
	Parked bool
	// Doors shows by which doors they came in, and how many by each, in no order.
	Doors iter.Seq2[any, int]
}

// EachKind shows every kind of every group, in no order. What it costs depends on their number, and on that of the doors, but
// not on the number of members.
func (l *Line[T, R, C]) EachKind(see func(KindCount[T, R, C])) {
	for _, g := range l.groups {
		for _, k := range g.kinds {
			see(KindCount[T, R, C]{First: k.lead.member, Len: k.members.Len(), Parked: k.parked, Doors: k.eachDoor})
		}
	}
}

func (k *kind[T, R, C]) eachDoor(yield func(any, int) bool) {
	for _, d := range k.doors {
		if !yield(d.by, d.n) {
			return
		}
	}
}
