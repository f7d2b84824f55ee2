package listener

import (
	"cmp"
	"container/list"
	"net/netip"
	"slices"
	"time"
)

// admit gives a hold its part, and returns who has to go for it; false if the remote is to have no more, and then nobody goes.
func (r *Room) admit(h *Hold) (displaced []*Hold, ok bool) {
	then := r.held(h.remote) + h.weight
	if then > r.each || h.weight > r.total {
		return nil, false
	}
	for r.used+h.weight > r.total {
		victim := r.oldestOfGreediest(h.remote, then)
		if victim == nil {
			for _, v := range slices.Backward(displaced) {
				r.give(v, (*list.List).PushFront)
			}
			return nil, false
		}
		r.take(victim)
		displaced = append(displaced, victim)
	}
	for _, v := range displaced {
		v.over = true
	}
	h.since = time.Now()
	r.give(h, (*list.List).PushBack)
	return displaced, true
}

// oldestOfGreediest is who has been longest of the remote that holds most, if that is more than the least; nil if nobody is, or not
// for long enough.
func (r *Room) oldestOfGreediest(but netip.Addr, least int64) *Hold {
	var oldest *Hold
	for remote, of := range r.remotes {
		if remote == but || of.held <= least || of.yields.Len() == 0 {
			continue
		}
		if first := of.yields.Front().Value.(*Hold); time.Since(first.since) >= r.patience {
			oldest, least = first, of.held
		}
	}
	return oldest
}

// next admits those who wait, as many as can be: who holds least first, and then who came first.
func (r *Room) next() (displaced []*Hold) {
	if r.waiting.Len() == 0 {
		return nil
	}
	waiting := make([]*waiter, 0, r.waiting.Len())
	for turn := r.waiting.Front(); turn != nil; turn = turn.Next() {
		waiting = append(waiting, turn.Value.(*waiter))
	}
	slices.SortStableFunc(waiting, func(a, b *waiter) int { return cmp.Compare(r.held(a.hold.remote), r.held(b.hold.remote)) })
	for _, w := range waiting {
		if gone, ok := r.admit(w.hold); ok {
			displaced = append(displaced, gone...)
			r.waiting.Remove(w.turn)
			close(w.ready)
		}
	}
	return displaced
}

func (r *Room) held(by netip.Addr) int64 {
	if of := r.remotes[by]; of != nil {
		return of.held
	}
	return 0
}

func (r *Room) give(h *Hold, at func(*list.List, any) *list.Element) {
	of := r.remotes[h.remote]
	if of == nil {
		of = &holdings{yields: list.New()}
		r.remotes[h.remote] = of
	}
	of.held, of.holds = of.held+h.weight, of.holds+1
	r.used += h.weight
	h.place = at(of.yields, h)
}

func (r *Room) take(h *Hold) {
	of := r.remotes[h.remote]
	of.held, of.holds = of.held-h.weight, of.holds-1
	r.used -= h.weight
	if h.place != nil {
		of.yields.Remove(h.place)
		h.place = nil
	}
	if of.holds == 0 {
		delete(r.remotes, h.remote)
	}
}
