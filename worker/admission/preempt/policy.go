package preempt

import (
	"math"

	"switchyard.dev/worker/admission"
)

// evictionPolicy says which workloads the preemptor may evict, by their queue.
type evictionPolicy struct {
	// withinQueue is about workloads of the preemptor's queue, outside about those of queues that borrow from a subtree in which the
	// preemptor does not, inside about those of queues that borrow where the preemptor does, too.
	withinQueue, reclaimWithinCohort, borrowWithinCohort priorityRule
}

// newEvictionPolicy returns the policies of a queue as they apply to a preemptor.
func newEvictionPolicy(p admission.Preemption, w *admission.Workload) evictionPolicy {
	all := evictionPolicy{withinQueue: newPriorityRule(p.WithinQueue, w), reclaimWithinCohort: newPriorityRule(p.ReclaimWithinCohort, w)}
	if all.reclaimWithinCohort.allowsNone() {
		return all
	}
	all.borrowWithinCohort = newPriorityRule(p.BorrowWithinCohort, w)
	if p.BorrowThreshold != nil {
		all.borrowWithinCohort.belowPriority = min(all.borrowWithinCohort.belowPriority, int64(*p.BorrowThreshold)+1)
	}
	return all
}

// forbidsAll reports whether the preemptor may evict no workload at all.
func (p evictionPolicy) forbidsAll() bool {
	return p.withinQueue.allowsNone() && p.reclaimWithinCohort.allowsNone()
}

// priorityRule allows the eviction of workloads by priority and age.
type priorityRule struct {
	// belowPriority bounds the priority, itself excluded.
	belowPriority int64
	// newerThan also allows those of exactly this priority that were queued after the preemptor; nil if it does not.
	newerThan *admission.Workload
	// except is the workload that the preemptor takes over from: it is no victim of it.
	except admission.Key
}

// noPriority is below all priorities.
const noPriority = math.MinInt64

// newPriorityRule returns which candidates one policy lets the preemptor take.
func newPriorityRule(p admission.PreemptionPolicy, w *admission.Workload) priorityRule {
	rule := priorityRule{belowPriority: noPriority, except: w.Replaces}
	switch p {
	case admission.LowerPriority:
		rule.belowPriority = int64(w.Priority)
	case admission.LowerOrNewerEqualPriority:
		rule.belowPriority, rule.newerThan = int64(w.Priority), w
	case admission.AnyPriority:
		rule.belowPriority = math.MaxInt64
	case admission.Never, "":
	}
	return rule
}

func (u priorityRule) allowsNone() bool { return u.belowPriority == noPriority }

// nextAllowed returns the index of the first workload from i on that may be evicted; the end of the list if there is none. The
// list is by priority.
func (u priorityRule) nextAllowed(list []*admission.Reservation, i int) int {
	for ; i < len(list); i++ {
		switch r := list[i]; {
		case r.Key == u.except && u.except != (admission.Key{}):
		case int64(r.Priority) < u.belowPriority:
			return i
		case u.newerThan == nil || r.Priority > u.newerThan.Priority:
			return len(list)
		case r.QueuedAt.After(u.newerThan.QueuedAt):
			return i
		}
	}
	return i
}
