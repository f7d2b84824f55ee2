package usage

import (
	"cmp"
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// AddLocalQueue makes an account for a LocalQueue that has none, with what its status says it consumed until it was sampled last.
// Of one that has an account only the weight is taken. A weight of 0 makes the figure infinite.
func (l *Tracker) AddLocalQueue(now time.Time, local admission.Key, weight quota.Weight, was LocalQueueUsage) {
	a := l.localQueues[local]
	if a == nil {
		a = l.startTracking(now, local, was)
	}
	a.weight = weight
	l.changed[local] = a
}

// startTracking starts at the last sample, so that the time in between decays; when nothing was consumed there is nothing to decay,
// and when the last sample is not in the past it is of no use.
func (l *Tracker) startTracking(now time.Time, local admission.Key, was LocalQueueUsage) *trackedQueue {
	a := &trackedQueue{localQueue: local, sampledAt: now, consumed: map[string]fixedPoint{}, pendingPenalties: map[string]exactSum{}}
	for _, c := range was.Consumed {
		if c.Milli >= 0 {
			a.consumed[c.Resource] = fromMilli(c.Resource, c.Milli)
		}
	}
	if len(a.consumed) > 0 && !was.SampledAt.IsZero() && was.SampledAt.Before(now) {
		a.sampledAt = was.SampledAt
	}
	l.localQueues[local] = a
	l.bySampleTime.Push(a)
	return a
}

// RemoveLocalQueue forgets a LocalQueue and the penalties of its workloads; unknown ones are fine.
func (l *Tracker) RemoveLocalQueue(local admission.Key) {
	a := l.localQueues[local]
	if a == nil {
		return
	}
	delete(l.localQueues, local)
	delete(l.changed, local)
	l.bySampleTime.Remove(a.heapIndex)
	for workload, e := range l.penalties {
		if e.queue == a {
			delete(l.penalties, workload)
		}
	}
}

// LocalQueueUsage returns how a LocalQueue stands; false when it has no account. A resource that was ever consumed stays listed.
func (l *Tracker) LocalQueueUsage(local admission.Key) (LocalQueueUsage, bool) {
	a := l.localQueues[local]
	if a == nil {
		return LocalQueueUsage{}, false
	}
	out := LocalQueueUsage{SampledAt: a.sampledAt, WeightedUsage: l.weightedUsage(a)}
	for resource, x := range a.consumed {
		out.Consumed = append(out.Consumed, Consumed{Resource: resource, Milli: amount.Amount(toMilli(resource, x))})
	}
	slices.SortFunc(out.Consumed, func(a, b Consumed) int { return cmp.Compare(a.Resource, b.Resource) })
	return out, true
}

// TakeChanges returns the LocalQueues whose usage differs from the one returned last, sorted; of a new LocalQueue only a
// usage that is not zero. A caller that keeps the values drops that of a LocalQueue when it is removed.
func (l *Tracker) TakeChanges() []UsageChange {
	var list []UsageChange
	for local, a := range l.changed {
		if is := l.weightedUsage(a); is != a.reported {
			a.reported = is
			list = append(list, UsageChange{LocalQueue: local, Usage: is})
		}
	}
	clear(l.changed)
	slices.SortFunc(list, func(a, b UsageChange) int { return a.LocalQueue.Compare(b.LocalQueue) })
	return list
}

// weightedUsage is the sum over the resources of their weighted use, penalties included, over the LocalQueue's weight.
func (l *Tracker) weightedUsage(a *trackedQueue) amount.Amount {
	var f weightedSum
	for resource, x := range a.consumed {
		f = f.plus(toMilli(resource, x.plus(a.pendingPenalties[resource].saturated())), l.weights[resource])
	}
	for resource, x := range a.pendingPenalties {
		if _, added := a.consumed[resource]; !added {
			f = f.plus(toMilli(resource, x.saturated()), l.weights[resource])
		}
	}
	return f.dividedBy(a.weight)
}
