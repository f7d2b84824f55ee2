package usage

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// NextSample is when Advance will have something to do; the zero time when there are no accounts.
func (l *Ledger) NextSample() time.Time {
	if l.due.Len() == 0 {
		return time.Time{}
	}
	return l.due.First().sampledAt.Add(l.interval)
}

// Advance samples the accounts whose interval is over and returns their LocalQueues: what was consumed decays towards what
// the admitted workloads of the LocalQueue use now, once for every whole interval. When nothing is due it costs nothing.
func (l *Ledger) Advance(now time.Time, used func(local admission.Key) amount.Vector) []admission.Key {
	var sampled []admission.Key
	for l.due.Len() > 0 {
		a := l.due.First()
		intervals := int64(now.Sub(a.sampledAt) / l.interval)
		if intervals < 1 {
			break
		}
		a.sample(used(a.local), l.keep.power(uint64(intervals)))
		a.sampledAt = a.sampledAt.Add(time.Duration(intervals * int64(l.interval)))
		l.due.Fix(a.at)
		l.touched[a.local] = a
		sampled = append(sampled, a.local)
	}
	return sampled
}

func (a *account) sample(used amount.Vector, keep fraction) {
	for _, r := range used {
		a.consumed[r.Resource] = a.consumed[r.Resource].plus(fixed{}) // So that the loop below meets it.
	}
	for resource, x := range a.consumed {
		y, _ := used.Get(resource)
		a.consumed[resource] = decayed(x, fixedOf(y), keep)
	}
}

// Enter puts a penalty on the LocalQueue for a workload that got quota and is not admitted: what one interval of the
// request would add to what was consumed. Saying so again changes nothing, unless the LocalQueue or the request differ. A
// LocalQueue without account takes no penalties.
func (l *Ledger) Enter(workload, local admission.Key, request amount.Vector) {
	a := l.accounts[local]
	if e, found := l.entries[workload]; found {
		if e.account == a && slices.Equal(e.request, request) {
			return
		}
		l.Leave(workload)
	}
	if a == nil {
		return
	}
	l.entries[workload] = entry{account: a, request: request}
	for _, r := range request {
		a.pending[r.Resource] = a.pending[r.Resource].plus(penalty(fixedOf(r.Amount), l.keep))
	}
	l.touched[a.local] = a
}

// Settle makes the penalty of a workload, which has been admitted, part of what its LocalQueue consumed. A workload
// without penalty is fine: it was admitted before.
func (l *Ledger) Settle(workload admission.Key) {
	e, found := l.entries[workload]
	if !found {
		return
	}
	l.Leave(workload)
	for _, r := range e.request {
		if p := penalty(fixedOf(r.Amount), l.keep); p != (fixed{}) {
			e.account.consumed[r.Resource] = e.account.consumed[r.Resource].plus(p)
		}
	}
}

// Leave drops the penalty of a workload that lost its quota before it was admitted; unknown ones are fine.
func (l *Ledger) Leave(workload admission.Key) {
	e, found := l.entries[workload]
	if !found {
		return
	}
	delete(l.entries, workload)
	for _, r := range e.request {
		rest := e.account.pending[r.Resource].minus(penalty(fixedOf(r.Amount), l.keep))
		if rest == (total{}) {
			delete(e.account.pending, r.Resource)
			continue
		}
		e.account.pending[r.Resource] = rest
	}
	l.touched[e.account.local] = e.account
}
