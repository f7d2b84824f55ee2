package admission

import (
	"switchyard.dev/worker/admission/amount"
)

// tally counts the workloads of a queue or a local queue.
type tally struct {
	// pending counts all that wait; delayed is the part of it that waits for its backoff to end.
	pending, delayed    int
	reserving, admitted int
	reserved, used      sums
}

func (t *tally) empty() bool { return t.pending == 0 && t.reserving == 0 }

// count adds (by 1) or takes away (by -1) a reservation.
func (t *tally) count(r *Reservation, by int) {
	t.reserving += by
	t.reserved = book(t.reserved, r.Usage, by)
	if r.Admitted {
		t.admitted += by
		t.used = book(t.used, r.Usage, by)
	}
}

// sums are amounts by flavor-resource, in no particular order: there are few, so that looking through them is faster than
// hashing two names.
type sums []sum

type sum struct {
	FlavorResource
	amount.Sum
}

func (s sums) of(name FlavorResource) amount.Sum {
	for i := range s {
		if s[i].FlavorResource == name {
			return s[i].Sum
		}
	}
	return amount.Sum{}
}

// book adds (by 1) or takes away (by -1) a usage.
func book(s sums, u Usage, by int) sums {
	for _, use := range u {
		v := amount.SumOf(use.Amount)
		if by < 0 {
			v = amount.Sum{}.Minus(v)
		}
		s = s.add(use.FlavorResource, v)
	}
	return s
}

func (s sums) add(name FlavorResource, v amount.Sum) sums {
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
	return append(s, sum{FlavorResource: name, Sum: v})
}

// localDesk is the tally of a LocalQueue that is known by its workloads only.
type localDesk struct {
	key Key
	tally
}

// local finds a LocalQueue's tally or opens it.
func (s *Snapshot) local(k Key) *localDesk {
	l, found := s.locals[k]
	if !found {
		l = &localDesk{key: k}
		s.locals[k] = l
	}
	return l
}

// tidyLocal forgets a LocalQueue without workloads.
func (s *Snapshot) tidyLocal(l *localDesk) {
	if l.empty() {
		delete(s.locals, l.key)
		delete(s.deskOf, l.key)
	}
}

// peekLocal returns the tally of a LocalQueue without keeping one that is empty.
func (s *Snapshot) peekLocal(k Key) tally {
	if l, found := s.locals[k]; found {
		return l.tally
	}
	return tally{}
}

// Resources adds up a usage by resource, whatever the flavors.
func Resources(u Usage) amount.Vector {
	requests := make([]amount.Request, 0, len(u))
	for _, use := range u {
		requests = append(requests, amount.Request{Resource: use.Resource, Amount: use.Amount})
	}
	return amount.NewVector(requests...)
}

// AdmittedThrough returns what the admitted workloads of a LocalQueue use, by resource (contract: kueue-api.md 4.14).
func (s *Snapshot) AdmittedThrough(lq Key) amount.Vector {
	t := s.peekLocal(lq)
	requests := make([]amount.Request, 0, len(t.used))
	for _, u := range t.used {
		requests = append(requests, amount.Request{Resource: u.Resource, Amount: u.Amount()})
	}
	return amount.NewVector(requests...)
}
