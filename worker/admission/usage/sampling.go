package usage

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// NextSampleAt is when Advance will have something to do; the zero time when there are no accounts.
func (l *Tracker) NextSampleAt() time.Time {
	if l.bySampleTime.Len() == 0 {
		return time.Time{}
	}
	return l.bySampleTime.First().sampledAt.Add(l.interval)
}

// Sample samples the accounts whose interval is over and returns their LocalQueues: what was consumed decays towards what
// the admitted workloads of the LocalQueue use now, once for every whole interval. When nothing is due it costs nothing.
func (l *Tracker) Sample(now time.Time, used func(local admission.Key) amount.Vector) []admission.Key {
	var sampled []admission.Key
	for l.bySampleTime.Len() > 0 {
		a := l.bySampleTime.First()
		intervals := int64(now.Sub(a.sampledAt) / l.interval)
		if intervals < 1 {
			break
		}
		a.addSample(used(a.localQueue), l.retained.power(uint64(intervals)))
		a.sampledAt = a.sampledAt.Add(time.Duration(intervals * int64(l.interval)))
		l.bySampleTime.Fix(a.heapIndex)
		l.changed[a.localQueue] = a
		sampled = append(sampled, a.localQueue)
	}
	return sampled
}

func (a *trackedQueue) addSample(used amount.Vector, keep fraction) {
	for _, r := range used {
		a.consumed[r.Resource] = a.consumed[r.Resource].plus(fixedPoint{}) // So that the loop below meets it.
	}
	for resource, x := range a.consumed {
		y, _ := used.Lookup(resource)
		a.consumed[resource] = decayTowards(x, newFixedPoint(y), keep)
	}
}

// AddPenalty puts a penalty on the LocalQueue for a workload that got quota and is not admitted: what one interval of the
// request would add to what was consumed. Saying so again changes nothing, unless the LocalQueue or the request differ. A
// LocalQueue without account takes no penalties.
func (l *Tracker) AddPenalty(workload, local admission.Key, request amount.Vector) {
	a := l.localQueues[local]
	if e, found := l.penalties[workload]; found {
		if e.queue == a && slices.Equal(e.request, request) {
			return
		}
		l.RemovePenalty(workload)
	}
	if a == nil {
		return
	}
	l.penalties[workload] = workloadPenalty{queue: a, request: request}
	for _, r := range request {
		a.pendingPenalties[r.Resource] = a.pendingPenalties[r.Resource].plus(entryPenalty(newFixedPoint(r.Amount), l.retained))
	}
	l.changed[a.localQueue] = a
}

// ConsumePenalty makes the penalty of a workload, which has been admitted, part of what its LocalQueue consumed. A workload
// without penalty is fine: it was admitted before.
func (l *Tracker) ConsumePenalty(workload admission.Key) {
	e, found := l.penalties[workload]
	if !found {
		return
	}
	l.RemovePenalty(workload)
	for _, r := range e.request {
		if p := entryPenalty(newFixedPoint(r.Amount), l.retained); p != (fixedPoint{}) {
			e.queue.consumed[r.Resource] = e.queue.consumed[r.Resource].plus(p)
		}
	}
}

// RemovePenalty drops the penalty of a workload that lost its quota before it was admitted; unknown ones are fine.
func (l *Tracker) RemovePenalty(workload admission.Key) {
	e, found := l.penalties[workload]
	if !found {
		return
	}
	delete(l.penalties, workload)
	for _, r := range e.request {
		rest := e.queue.pendingPenalties[r.Resource].minus(entryPenalty(newFixedPoint(r.Amount), l.retained))
		if rest == (exactSum{}) {
			delete(e.queue.pendingPenalties, r.Resource)
			continue
		}
		e.queue.pendingPenalties[r.Resource] = rest
	}
	l.changed[e.queue.localQueue] = e.queue
}
