package order

import "iter"

// originCount is something that members of a class came in by, and how many did.
type originCount struct {
	origin any
	count  int
}

// countOrigin counts one more (by 1) or one fewer (by -1) of those that came in by an origin. The origin that was used last stands first:
// members that come or go together often share theirs.
func (k *EquivalenceClass[T, C]) countOrigin(in any, by int) {
	at := 0
	for at < len(k.origins) && k.origins[at].origin != in {
		at++
	}
	if at == len(k.origins) {
		k.origins = append(k.origins, originCount{origin: in})
	}
	k.origins[0], k.origins[at] = k.origins[at], k.origins[0]
	if k.origins[0].count += by; k.origins[0].count == 0 {
		last := len(k.origins) - 1
		k.origins[0], k.origins[last] = k.origins[last], originCount{}
		k.origins = k.origins[:last]
	}
}

// ClassCount is how many members of one class there are.
type ClassCount[T, C any] struct {
	// First is the first of them.
	First        *Member[T, C]
	Len          int
	Inadmissible bool
	// Origins yields the origins of the members, and how many have each, in no order.
	Origins iter.Seq2[any, int]
}

// EachClass shows every class of every group, in no order. What it costs depends on their number, and on that of the origins, but
// not on the number of members.
func (l *Queue[T, C]) EachClass(see func(ClassCount[T, C])) {
	for _, g := range l.groups {
		for _, k := range g.classes {
			see(ClassCount[T, C]{First: k.head.member, Len: k.members.Len(), Inadmissible: k.isInadmissible, Origins: k.eachOrigin})
		}
	}
}

func (k *EquivalenceClass[T, C]) eachOrigin(yield func(any, int) bool) {
	for _, d := range k.origins {
		if !yield(d.origin, d.count) {
			return
		}
	}
}
