package listener

import (
	"cmp"
	"container/list"
	"net/netip"
	"slices"
	"time"
)

// admit gives a hold its part, and returns the holds that are displaced for it; false if the remote is to have no more, and
// then none is displaced.
func (r *Limiter) admit(h *Hold) (displaced []*Hold, ok bool) {
	then := r.heldBy(h.remote) + h.weight
	if then > r.perRemote || h.weight > r.total {
		return nil, false
	}
	for r.used+h.weight > r.total {
		victim := r.findDisplaceable(h.remote, then)
		if victim == nil {
			for _, v := range slices.Backward(displaced) {
				r.add(v, (*list.List).PushFront)
			}
			return nil, false
		}
		r.remove(victim)
		displaced = append(displaced, victim)
	}
	for _, v := range displaced {
		v.released = true
	}
	h.since = time.Now()
	r.add(h, (*list.List).PushBack)
	return displaced, true
}

// findDisplaceable returns the oldest hold of the remote that holds most, if that is more than the least; nil if there is
// none, or none that is old enough.
func (r *Limiter) findDisplaceable(but netip.Addr, least int64) *Hold {
	var oldest *Hold
	for remote, of := range r.remotes {
		if remote == but || of.held <= least || of.displaceable.Len() == 0 {
			continue
		}
		if first := of.displaceable.Front().Value.(*Hold); time.Since(first.since) >= r.grace {
			oldest, least = first, of.held
		}
	}
	return oldest
}

// admitWaiting admits as many of the waiting holds as possible: those of the remote that holds least first, and then by age.
func (r *Limiter) admitWaiting() (displaced []*Hold) {
	if r.waiting.Len() == 0 {
		return nil
	}
	waiting := make([]*waiter, 0, r.waiting.Len())
	for turn := r.waiting.Front(); turn != nil; turn = turn.Next() {
		waiting = append(waiting, turn.Value.(*waiter))
	}
	slices.SortStableFunc(waiting, func(a, b *waiter) int { return cmp.Compare(r.heldBy(a.hold.remote), r.heldBy(b.hold.remote)) })
	for _, w := range waiting {
		if gone, ok := r.admit(w.hold); ok {
			displaced = append(displaced, gone...)
			r.waiting.Remove(w.sequence)
			close(w.ready)
		}
	}
	return displaced
}

func (r *Limiter) heldBy(by netip.Addr) int64 {
	if of := r.remotes[by]; of != nil {
		return of.held
	}
	return 0
}

func (r *Limiter) add(h *Hold, at func(*list.List, any) *list.Element) {
	of := r.remotes[h.remote]
	if of == nil {
		of = &remoteUsage{displaceable: list.New()}
		r.remotes[h.remote] = of
	}
	of.held, of.holds = of.held+h.weight, of.holds+1
	r.used += h.weight
	h.element = at(of.displaceable, h)
}

func (r *Limiter) remove(h *Hold) {
	of := r.remotes[h.remote]
	of.held, of.holds = of.held-h.weight, of.holds-1
	r.used -= h.weight
	if h.element != nil {
		of.displaceable.Remove(h.element)
		h.element = nil
	}
	if of.holds == 0 {
		delete(r.remotes, h.remote)
	}
}
