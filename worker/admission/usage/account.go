package usage

import (
	"cmp"
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// Open makes an account for a LocalQueue that has none, with what its status says it consumed until it was sampled last.
// Of one that has an account only the weight is taken. A weight of 0 makes the figure infinite.
func (l *Ledger) Open(now time.Time, local admission.Key, weight quota.Weight, was Account) {
	a := l.accounts[local]
	if a == nil {
		a = l.open(now, local, was)
	}
	a.weight = weight
	l.touched[local] = a
}

// open starts at the last sample, so that the time in between decays; when nothing was consumed there is nothing to decay,
// and when the last sample is not in the past it is of no use.
func (l *Ledger) open(now time.Time, local admission.Key, was Account) *account {
	a := &account{local: local, sampledAt: now, consumed: map[string]fixed{}, pending: map[string]total{}}
	for _, c := range was.Consumed {
		if c.Milli >= 0 {
			a.consumed[c.Resource] = fromMilli(c.Resource, c.Milli)
		}
	}
	if len(a.consumed) > 0 && !was.SampledAt.IsZero() && was.SampledAt.Before(now) {
		a.sampledAt = was.SampledAt
	}
	l.accounts[local] = a
	l.due.Push(a)
	return a
}

// Close forgets a LocalQueue and the penalties of its workloads; unknown ones are fine.
func (l *Ledger) Close(local admission.Key) {
	a := l.accounts[local]
	if a == nil {
		return
	}
	delete(l.accounts, local)
	delete(l.touched, local)
	l.due.Remove(a.at)
	for workload, e := range l.entries {
		if e.account == a {
			delete(l.entries, workload)
		}
	}
}

// Account returns how a LocalQueue stands; false when it has no account. A resource that was ever consumed stays listed.
func (l *Ledger) Account(local admission.Key) (Account, bool) {
	a := l.accounts[local]
	if a == nil {
		return Account{}, false
	}
	out := Account{SampledAt: a.sampledAt, Usage: l.figureOf(a)}
	for resource, x := range a.consumed {
		out.Consumed = append(out.Consumed, Consumed{Resource: resource, Milli: amount.Amount(milli(resource, x))})
	}
	slices.SortFunc(out.Consumed, func(a, b Consumed) int { return cmp.Compare(a.Resource, b.Resource) })
	return out, true
}

// Changes returns the LocalQueues whose figure differs from the one returned last, sorted; of a new account only a figure
// that is not zero. Whoever keeps figures drops that of a LocalQueue when its account is closed.
func (l *Ledger) Changes() []Figure {
	var list []Figure
	for local, a := range l.touched {
		if is := l.figureOf(a); is != a.told {
			a.told = is
			list = append(list, Figure{Local: local, Usage: is})
		}
	}
	clear(l.touched)
	slices.SortFunc(list, func(a, b Figure) int { return a.Local.Compare(b.Local) })
	return list
}

// figureOf is the sum over the resources of their weighted use, penalties included, over the LocalQueue's weight.
func (l *Ledger) figureOf(a *account) amount.Amount {
	var f figure
	for resource, x := range a.consumed {
		f = f.plus(milli(resource, x.plus(a.pending[resource].number())), l.weights[resource])
	}
	for resource, x := range a.pending {
		if _, added := a.consumed[resource]; !added {
			f = f.plus(milli(resource, x.number()), l.weights[resource])
		}
	}
	return f.over(a.weight)
}
