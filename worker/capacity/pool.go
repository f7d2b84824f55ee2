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

// pool is what all queues of a tree borrow of one flavor-resource. It is summed up once, so that asking for each of many
// queues does not go through all the others.
type pool struct {
	name  quota.FlavorResource
	loans map[string]loan
	// priorities rise; whoever has at least priorities[i] could get back below[i] if all queues were to give.
	priorities []int32
	below      []amount.Sum
	all        amount.Sum
}

// loan is what one queue borrows, and who holds what of its quota.
type loan struct {
	amount amount.Amount
	held   held
}

func (p *pool) sumUp() {
	for _, l := range p.loans {
		p.all = p.all.Plus(amount.SumOf(l.whole(p.name)))
		for priority, uses := range l.held {
			if priority < math.MaxInt32 && uses[p.name] != (amount.Sum{}) {
				p.priorities = append(p.priorities, priority+1)
			}
		}
	}
	slices.Sort(p.priorities)
	p.priorities = thin(slices.Compact(p.priorities), maxThresholds)
	p.below = make([]amount.Sum, len(p.priorities))
	for i, priority := range p.priorities {
		for _, l := range p.loans {
			p.below[i] = p.below[i].Plus(amount.SumOf(l.from(priority, p.name)))
		}
	}
}

// back is what the others would give back to a workload of the queue and the priority.
func (p *pool) back(queue string, priority int32, policy admission.Policy) amount.Amount {
	own := p.loans[queue]
	if policy == admission.AnyPriority {
		return p.all.Minus(amount.SumOf(own.whole(p.name))).Amount()
	}
	i, exact := slices.BinarySearch(p.priorities, priority)
	if !exact {
		i--
	}
	if i < 0 {
		return 0
	}
	return p.below[i].Minus(amount.SumOf(own.from(p.priorities[i], p.name))).Amount()
}

// whole is what the queue would give back to whoever may evict anybody, and from to whoever has the priority.
func (l loan) whole(name quota.FlavorResource) amount.Amount {
	var sum amount.Sum
	for _, uses := range l.held {
		sum = sum.Plus(uses[name])
	}
	return min(l.amount, sum.Amount())
}

func (l loan) from(priority int32, name quota.FlavorResource) amount.Amount {
	return min(l.amount, l.held.below(priority, name))
}

// thin drops elements of a list that has too many, never the first or the last.
func thin[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	kept := make([]T, 0, most)
	for i := range most {
		kept = append(kept, list[i*(len(list)-1)/(most-1)])
	}
	return kept
}
