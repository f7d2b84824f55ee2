package preempt

import (
	"math"

	"switchyard.dev/worker/admission"
)

// policy is whom the preemptor may evict, by whose they are.
type policy struct {
	// own is about workloads of the preemptor's queue, outside about those of queues that borrow from a subtree in which the
	// preemptor does not, inside about those of queues that borrow where the preemptor does, too.
	own, outside, inside rule
}

func policyOf(p admission.Preemption, w *admission.Workload) policy {
	all := policy{own: ruleOf(p.WithinQueue, w), outside: ruleOf(p.ReclaimWithinCohort, w)}
	if all.outside.nobody() {
		return all
	}
	all.inside = ruleOf(p.BorrowWithinCohort, w)
	if p.BorrowThreshold != nil {
		all.inside.below = min(all.inside.below, int64(*p.BorrowThreshold)+1)
	}
	return all
}

// forbidsAll reports whether there is nobody whom the preemptor might evict.
func (p policy) forbidsAll() bool { return p.own.nobody() && p.outside.nobody() }

// rule allows the eviction of workloads by priority and age.
type rule struct {
	// below bounds the priority, itself excluded.
	below int64
	// newer also allows those of exactly this priority that were queued after the preemptor; nil if it does not.
	newer *admission.Workload
}

// noPriority is below all priorities.
const noPriority = math.MinInt64

func ruleOf(p admission.Policy, w *admission.Workload) rule {
	switch p {
	case admission.LowerPriority:
		return rule{below: int64(w.Priority)}
	case admission.LowerOrNewerEqualPriority:
		return rule{below: int64(w.Priority), newer: w}
	case admission.AnyPriority:
		return rule{below: math.MaxInt64}
	case admission.Never, "":
	}
	return rule{below: noPriority}
}

func (u rule) nobody() bool { return u.below == noPriority }

// next returns the index of the first workload from i on that may be evicted; the end of the list if there is none. The
// list is by priority.
func (u rule) next(list []*admission.Reservation, i int) int {
	for ; i < len(list); i++ {
		switch r := list[i]; {
		case int64(r.Priority) < u.below:
			return i
		case u.newer == nil || r.Priority > u.newer.Priority:
			return len(list)
		case r.QueuedAt.After(u.newer.QueuedAt):
			return i
		}
	}
	return i
}
