package admission

import (
	"switchyard.dev/worker/admission/amount"
)

// counters counts the workloads of a queue or a local queue.
type counters struct {
	// pending counts all that wait; delayed is the part of it that waits for its backoff to end.
	pending, backingOff int
	reserving, admitted int
	reserved, used      usageSums
}

func (t *counters) isEmpty() bool { return t.pending == 0 && t.reserving == 0 }

// updateFor adds (by 1) or takes away (by -1) a reservation.
func (t *counters) updateFor(r *Reservation, by int) {
	t.reserving += by
	t.reserved = bookUsage(t.reserved, r.Usage, by)
	if r.Admitted {
		t.admitted += by
		t.used = bookUsage(t.used, r.Usage, by)
	}
}

// usageSums are amounts by flavor-resource, in no particular order: there are few, so that looking through them is faster than
// hashing two names.
type usageSums []usageSum

type usageSum struct {
	FlavorResource
	amount.Sum
}

func (s usageSums) sumFor(name FlavorResource) amount.Sum {
	for i := range s {
		if s[i].FlavorResource == name {
			return s[i].Sum
		}
	}
	return amount.Sum{}
}

// bookUsage adds (by 1) or takes away (by -1) a usage.
func bookUsage(s usageSums, u Usage, by int) usageSums {
	for _, use := range u {
		v := amount.NewSum(use.Amount)
		if by < 0 {
			v = amount.Sum{}.Minus(v)
		}
		s = s.add(use.FlavorResource, v)
	}
	return s
}

// add adds to one sum, and drops it when it becomes zero.
func (s usageSums) add(name FlavorResource, v amount.Sum) usageSums {
	if v == (amount.Sum{}) {
		return s
	}
	for i := range s {
		if s[i].FlavorResource != name {
			continue
		}
		if s[i].Sum = s[i].Plus(v); s[i].Sum == (amount.Sum{}) {
			s[i] = s[len(s)-1]
			return s[:len(s)-1]
		}
		return s
	}
	return append(s, usageSum{FlavorResource: name, Sum: v})
}

// localQueueState is the tally of a LocalQueue that is known by its workloads only.
type localQueueState struct {
	key Key
	counters
}

// pruneLocalQueueState forgets a LocalQueue without workloads.
func (s *Snapshot) pruneLocalQueueState(l *localQueueState) {
	if l.isEmpty() {
		delete(s.localQueueStates, l.key)
		delete(s.usageBasedQueues, l.key)
	}
}

// ResourceTotals adds up a usage by resource, whatever the flavors.
func ResourceTotals(u Usage) amount.Vector {
	requests := make([]amount.Request, 0, len(u))
	for _, use := range u {
		requests = append(requests, amount.Request{Resource: use.Resource, Amount: use.Amount})
	}
	return amount.NewVector(requests...)
}

// ensureLocalQueueState finds a LocalQueue's tally or opens it.
func (x *queueIndex) ensureLocalQueueState(k Key) *localQueueState {
	l, found := x.localQueueStates[k]
	if !found {
		l = &localQueueState{key: k}
		x.localQueueStates[k] = l
	}
	return l
}

// localQueueCounters returns the tally of a LocalQueue without keeping one that is empty.
func (x *queueIndex) localQueueCounters(k Key) counters {
	if l, found := x.localQueueStates[k]; found {
		return l.counters
	}
	return counters{}
}

// LocalQueueAdmittedUsage returns what the admitted workloads of a LocalQueue use, by resource (contract: kueue-api.md 4.14).
func (x *queueIndex) LocalQueueAdmittedUsage(lq Key) amount.Vector {
	t := x.localQueueCounters(lq)
	requests := make([]amount.Request, 0, len(t.used))
	for _, u := range t.used {
		requests = append(requests, amount.Request{Resource: u.Resource, Amount: u.Amount()})
	}
	return amount.NewVector(requests...)
}
