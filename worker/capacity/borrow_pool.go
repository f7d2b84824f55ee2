package capacity

import (
	"math"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// maxThresholds is how many priorities a pool tells apart.
const maxThresholds = 16

// borrowPool is what all queues of a tree borrow of one flavor-resource. It is summed up once, so that asking for each of many
// queues does not go through all the others.
type borrowPool struct {
	flavorResource quota.FlavorResource
	borrowers      map[string]borrower
	// priorities rise; a workload with at least priorities[i] could get back below[i] if all queues were to give.
	priorities  []int32
	reclaimable []amount.Sum
	total       amount.Sum
}

// borrower is what one queue borrows, with the workloads that hold its quota.
type borrower struct {
	amount   amount.Amount
	reserved reservedByPriority
}

// computeTotals sums what all borrowers of the pool would give back: in all, and by the priority of the preemptor. It is
// called once, when all borrowers are in.
func (p *borrowPool) computeTotals() {
	for _, l := range p.borrowers {
		p.total = p.total.Plus(amount.NewSum(l.reclaimableByAny(p.flavorResource)))
		for priority, uses := range l.reserved {
			if priority < math.MaxInt32 && uses[p.flavorResource] != (amount.Sum{}) {
				p.priorities = append(p.priorities, priority+1)
			}
		}
	}
	slices.Sort(p.priorities)
	p.priorities = downsample(slices.Compact(p.priorities), maxThresholds)
	p.reclaimable = make([]amount.Sum, len(p.priorities))
	for i, priority := range p.priorities {
		for _, l := range p.borrowers {
			p.reclaimable[i] = p.reclaimable[i].Plus(amount.NewSum(l.reclaimableBy(priority, p.flavorResource)))
		}
	}
}

// reclaimableFor is what the others would give back to a workload of the queue and the priority.
func (p *borrowPool) reclaimableFor(queue string, priority int32, policy admission.PreemptionPolicy) amount.Amount {
	own := p.borrowers[queue]
	if policy == admission.AnyPriority {
		return p.total.Minus(amount.NewSum(own.reclaimableByAny(p.flavorResource))).Amount()
	}
	i, exact := slices.BinarySearch(p.priorities, priority)
	if !exact {
		i--
	}
	if i < 0 {
		return 0
	}
	return p.reclaimable[i].Minus(amount.NewSum(own.reclaimableBy(p.priorities[i], p.flavorResource))).Amount()
}

// reclaimableByAny is what the queue would give back to a queue that may evict any workload, and from what it would give back
// by the preemptor's priority.
func (l borrower) reclaimableByAny(name quota.FlavorResource) amount.Amount {
	var sum amount.Sum
	for _, uses := range l.reserved {
		sum = sum.Plus(uses[name])
	}
	return min(l.amount, sum.Amount())
}

func (l borrower) reclaimableBy(priority int32, name quota.FlavorResource) amount.Amount {
	return min(l.amount, l.reserved.belowPriority(priority, name))
}

// downsample drops elements of a list that has too many, never the first or the last.
func downsample[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	kept := make([]T, 0, most)
	for i := range most {
		kept = append(kept, list[i*(len(list)-1)/(most-1)])
	}
	return kept
}
