package capacity

import (
	"math"
	"slices"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/view"
)

// held is what the workloads of a queue hold, by priority.
type held map[int32]map[quota.FlavorResource]amount.Sum

// below is what those of lower priority hold.
func (h held) below(priority int32, name quota.FlavorResource) amount.Amount {
	var sum amount.Sum
	for p, uses := range h {
		if p < priority {
			sum = sum.Plus(uses[name])
		}
	}
	return sum.Amount()
}

// evictions are what could be had by preemption in one cohort tree, whatever it takes.
type evictions struct {
	// fair is whether preemption goes by shares.
	fair bool
	held map[string]held
	// pools are what the queues that borrow could be made to give back.
	pools map[quota.FlavorResource]*pool
}

func evictionsOf(rooms []view.QueueRoom, populations map[string]held, fair bool) *evictions {
	e := &evictions{fair: fair, held: populations, pools: map[quota.FlavorResource]*pool{}}
	for i := range rooms {
		people := populations[rooms[i].Name]
		for _, c := range rooms[i].Cells {
			if c.Borrowed <= 0 || len(people) == 0 {
				continue
			}
			p := e.pools[c.FlavorResource]
			if p == nil {
				p = &pool{name: c.FlavorResource, loans: map[string]loan{}}
				e.pools[c.FlavorResource] = p
			}
			p.loans[rooms[i].Name] = loan{c.Borrowed, people}
		}
	}
	for _, p := range e.pools {
		p.sumUp()
	}
	return e
}

// steps are what a workload of the queue could use of a flavor by evicting others, as its priority rises. Steps that are
// not more than the one before, or than what is free anyway, are left out; if there are too many, so are some of them, so
// that the priorities between get less than they could.
func (e *evictions) steps(room *view.QueueRoom, cells []view.CellRoom) []switchyard.CapacityStep {
	var steps []switchyard.CapacityStep
	last := make([]int64, 0, len(cells))
	for i := range cells {
		last = append(last, int64(free(&cells[i])))
	}
	for _, priority := range e.thresholds(room, cells) {
		step := switchyard.CapacityStep{Priority: priority}
		for i := range cells {
			step.Free = append(step.Free, int64(e.most(room, &cells[i], priority)))
		}
		if !slices.Equal(step.Free, last) {
			steps, last = append(steps, step), step.Free
		}
	}
	return thin(steps, maxPriorities)
}

// thresholds are the priorities at which somebody more could be evicted, rising.
func (e *evictions) thresholds(room *view.QueueRoom, cells []view.CellRoom) []int32 {
	var out []int32
	for i := range cells {
		name := cells[i].FlavorResource
		if some(room.Preemption.WithinQueue) {
			for priority, uses := range e.held[room.Name] {
				if priority < math.MaxInt32 && uses[name] != (amount.Sum{}) {
					out = append(out, priority+1)
				}
			}
		}
		switch p := e.pools[name]; {
		case p == nil || !some(room.Preemption.ReclaimWithinCohort):
		case room.Preemption.ReclaimWithinCohort == admission.AnyPriority:
			out = append(out, math.MinInt32)
		default:
			out = append(out, p.priorities...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func some(p admission.Policy) bool { return p != "" && p != admission.Never }

// most is the most that a workload of the priority could use of a cell, if the policies let it evict everybody whom they let
// it evict at all: of its own queue those of lower priority, of others what they borrow, as far as its queue then borrows
// nothing itself or may do so.
func (e *evictions) most(room *view.QueueRoom, c *view.CellRoom, priority int32) amount.Amount {
	var within amount.Amount
	if some(room.Preemption.WithinQueue) {
		within = e.held[room.Name].below(priority, c.FlavorResource)
	}
	left, kept := c.Available.Add(within), c.Usage.Sub(within)
	best := max(free(c), min(left, largest(c).Sub(kept)))
	if p := e.pools[c.FlavorResource]; p != nil && some(room.Preemption.ReclaimWithinCohort) {
		limit := c.Quota // who borrows nothing stays below it
		if e.fair || some(room.Preemption.BorrowWithinCohort) {
			limit = largest(c)
		}
		back := p.back(room.Name, priority, room.Preemption.ReclaimWithinCohort)
		best = max(best, min(left.Add(back), limit.Sub(kept)))
	}
	return best
}
