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

// reservedByPriority is what the workloads of a queue hold, by priority.
type reservedByPriority map[int32]map[quota.FlavorResource]amount.Sum

// belowPriority is what those of lower priority hold.
func (h reservedByPriority) belowPriority(priority int32, name quota.FlavorResource) amount.Amount {
	var sum amount.Sum
	for p, uses := range h {
		if p < priority {
			sum = sum.Plus(uses[name])
		}
	}
	return sum.Amount()
}

// preemptableQuota are what could be had by preemption in one cohort tree, whatever it takes.
type preemptableQuota struct {
	// fairSharing is whether preemption goes by shares.
	fairSharing bool
	reserved    map[string]reservedByPriority
	// pools are what the queues that borrow could be made to give back.
	pools map[quota.FlavorResource]*borrowPool
}

// newPreemptableQuota collects the queues of a tree that borrow, by what they borrow. Populations are the reservations of
// each queue by priority.
func newPreemptableQuota(rooms []view.QueueCapacity, populations map[string]reservedByPriority, fair bool) *preemptableQuota {
	e := &preemptableQuota{fairSharing: fair, reserved: populations, pools: map[quota.FlavorResource]*borrowPool{}}
	for i := range rooms {
		reservations := populations[rooms[i].Name]
		for _, c := range rooms[i].Cells {
			if c.Borrowed <= 0 || len(reservations) == 0 {
				continue
			}
			p := e.pools[c.FlavorResource]
			if p == nil {
				p = &borrowPool{flavorResource: c.FlavorResource, borrowers: map[string]borrower{}}
				e.pools[c.FlavorResource] = p
			}
			p.borrowers[rooms[i].Name] = borrower{c.Borrowed, reservations}
		}
	}
	for _, p := range e.pools {
		p.computeTotals()
	}
	return e
}

// capacitySteps are what a workload of the queue could use of a flavor by evicting others, as its priority rises. Steps that are
// not more than the one before, or than what is free anyway, are left out; if there are too many, so are some of them, so
// that the priorities between get less than they could.
func (e *preemptableQuota) capacitySteps(room *view.QueueCapacity, cells []view.CellCapacity) []switchyard.CapacityStep {
	var steps []switchyard.CapacityStep
	last := make([]int64, 0, len(cells))
	for i := range cells {
		last = append(last, int64(freeQuota(&cells[i])))
	}
	for _, priority := range e.priorityThresholds(room, cells) {
		step := switchyard.CapacityStep{Priority: priority}
		for i := range cells {
			step.Free = append(step.Free, int64(e.maxQuota(room, &cells[i], priority)))
		}
		if !slices.Equal(step.Free, last) {
			steps, last = append(steps, step), step.Free
		}
	}
	return downsample(steps, maxPriorities)
}

// priorityThresholds are the priorities at which one more workload could be evicted, rising.
func (e *preemptableQuota) priorityThresholds(room *view.QueueCapacity, cells []view.CellCapacity) []int32 {
	var out []int32
	for i := range cells {
		name := cells[i].FlavorResource
		if canPreempt(room.Preemption.WithinQueue) {
			for priority, uses := range e.reserved[room.Name] {
				if priority < math.MaxInt32 && uses[name] != (amount.Sum{}) {
					out = append(out, priority+1)
				}
			}
		}
		switch p := e.pools[name]; {
		case p == nil || !canPreempt(room.Preemption.ReclaimWithinCohort):
		case room.Preemption.ReclaimWithinCohort == admission.AnyPriority:
			out = append(out, math.MinInt32)
		default:
			out = append(out, p.priorities...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func canPreempt(p admission.PreemptionPolicy) bool { return p != "" && p != admission.Never }

// maxQuota is the most that a workload of the priority could use of a cell if it evicted all workloads that the policies let
// it evict: of its own queue those of lower priority, of other queues what they borrow, as far as its queue then borrows
// nothing itself or may do so.
func (e *preemptableQuota) maxQuota(room *view.QueueCapacity, c *view.CellCapacity, priority int32) amount.Amount {
	var within amount.Amount
	if canPreempt(room.Preemption.WithinQueue) {
		within = e.reserved[room.Name].belowPriority(priority, c.FlavorResource)
	}
	left, kept := c.Available.Add(within), c.Usage.Sub(within)
	best := max(freeQuota(c), min(left, potentialQuota(c).Sub(kept)))
	if p := e.pools[c.FlavorResource]; p != nil && canPreempt(room.Preemption.ReclaimWithinCohort) {
		limit := c.Quota // who borrows nothing stays below it
		if e.fairSharing || canPreempt(room.Preemption.BorrowWithinCohort) {
			limit = potentialQuota(c)
		}
		back := p.reclaimableFor(room.Name, priority, room.Preemption.ReclaimWithinCohort)
		best = max(best, min(left.Add(back), limit.Sub(kept)))
	}
	return best
}
