package room

import (
	"time"

	"switchyard.dev/worker/admission/amount"
)

// Observation is all that a decision may look at.
type Observation struct {
	Now time.Time
	// Since is when the workload's quota was reserved.
	Since time.Time
	// Passed tells that this reservation was let pass before.
	Passed bool
	// Quotas of the namespace, sorted by name.
	Quotas []Quota
	// Asked is what the workload may create.
	Asked Claim
	// InFlight is what other workloads that were let pass may still create.
	InFlight []Claim
	// Retries is how often this check has sent the workload back.
	Retries int32
}

// Policy holds the waiting times.
type Policy struct {
	// Patience is how long after the reservation to wait for room, holding it, before the workload is sent back. Quotas are
	// counted down a moment after a pod ends, often just after its end has let the next workload in.
	Patience time.Duration
	// FirstDelay is the delay before the first new try; it doubles with each, up to LongestDelay, which also is the delay of
	// a workload that waits for somebody to change something.
	FirstDelay, LongestDelay time.Duration
}

// Reason says why an Answer is what it is.
type Reason string

// The reasons.
const (
	// Passed: the reservation was let pass before, and stays so.
	Passed Reason = "Passed"
	// NoQuota: no ResourceQuota restricts what the workload creates.
	NoQuota Reason = "NoQuota"
	// HasRoom: everything fits.
	HasRoom Reason = "HasRoom"
	// Uncounted: the cluster has not counted the use of a quota yet.
	Uncounted Reason = "Uncounted"
	// NoRoom: what is used and promised leaves too little.
	NoRoom Reason = "NoRoom"
	// Undeclared: a quota restricts a resource that the pods do not declare, so the API server would refuse them.
	Undeclared Reason = "Undeclared"
	// TooLarge: the workload alone asks for more than a quota has.
	TooLarge Reason = "TooLarge"
)

// rank orders reasons not to let a workload pass: that of the highest rank is the Answer's.
func (r Reason) rank() int {
	switch r {
	case TooLarge:
		return 4
	case Undeclared:
		return 3
	case NoRoom:
		return 2
	case Uncounted:
		return 1
	default:
		return 0
	}
}

// State is what becomes of the check.
type State string

// The states; a workload is never rejected, because a quota may be raised.
const (
	// Pending: look again at WakeAt, or when a quota changes.
	Pending State = "Pending"
	// Ready: the workload may start.
	Ready State = "Ready"
	// Retry: give the reservation back and try again after RequeueAfter.
	Retry State = "Retry"
)

// Shortage is one resource of one quota that does not let the workload pass.
type Shortage struct {
	Quota, Resource             string
	Because                     Reason
	Asked, Used, Promised, Hard amount.Amount
}

// Answer is a decision.
type Answer struct {
	State   State
	Because Reason
	// Shortages, by quota and resource, say what is in the way.
	Shortages []Shortage
	// RequeueAfter is the delay of a Retry; zero otherwise.
	RequeueAfter time.Duration
	// WakeAt is when a Pending answer must be asked for again; zero otherwise.
	WakeAt time.Time
}

// Decide answers whether the workload may start. It is let pass only if each quota has room for it and for everything that
// was promised to others, and once let pass it stays so until its reservation ends.
func Decide(o Observation, p Policy) Answer {
	if o.Passed {
		return Answer{State: Ready, Because: Passed}
	}
	because, concerned := HasRoom, false
	var shortages []Shortage
	for _, q := range o.Quotas {
		short, restricts := q.shortages(o.Asked, o.InFlight)
		concerned = concerned || restricts
		shortages = append(shortages, short...)
		for _, s := range short {
			if s.Because.rank() > because.rank() {
				because = s.Because
			}
		}
	}
	switch {
	case len(shortages) > 0:
		return p.sendBack(o, because, shortages)
	case !concerned:
		return Answer{State: Ready, Because: NoQuota}
	default:
		return Answer{State: Ready, Because: HasRoom}
	}
}

// sendBack is the answer to a workload that may not start: wait a moment where that can help, then retry.
func (p Policy) sendBack(o Observation, because Reason, shortages []Shortage) Answer {
	a := Answer{State: Retry, Because: because, Shortages: shortages}
	if until := o.Since.Add(p.Patience); because.rank() <= NoRoom.rank() && o.Now.Before(until) {
		a.State, a.WakeAt = Pending, until
		return a
	}
	a.RequeueAfter = p.LongestDelay
	if because.rank() <= NoRoom.rank() {
		a.RequeueAfter = p.delay(o.Retries)
	}
	return a
}

// delay doubles with every retry before.
func (p Policy) delay(retries int32) time.Duration {
	d := p.FirstDelay
	for ; retries > 0 && d < p.LongestDelay; retries-- {
		d *= 2
	}
	return min(d, p.LongestDelay)
}

// shortages are what is in the way of a claim under this quota, by resource. Restricts tells whether the quota has a say at
// all.
func (q Quota) shortages(asked Claim, inFlight []Claim) (short []Shortage, restricts bool) {
	asks := asked.under(q)
	for _, name := range asked.undeclared(q) {
		restricts = true
		hard, _ := q.Hard.Get(name)
		short = append(short, Shortage{Quota: q.Name, Resource: name, Because: Undeclared, Hard: hard})
	}
	for _, hard := range q.Hard {
		ask, _ := asks.Get(hard.Resource)
		if ask <= 0 {
			continue
		}
		restricts = true
		s := Shortage{Quota: q.Name, Resource: hard.Resource, Asked: ask, Hard: hard.Amount, Promised: promised(q, hard.Resource, inFlight)}
		used, counted := q.Used.Get(hard.Resource)
		s.Used = used
		switch {
		case ask > hard.Amount:
			s.Because = TooLarge
		case !counted:
			s.Because = Uncounted
		case used.Add(s.Promised).Add(ask) > hard.Amount:
			s.Because = NoRoom
		default:
			continue
		}
		short = append(short, s)
	}
	return short, restricts
}

func promised(q Quota, resource string, inFlight []Claim) amount.Amount {
	var sum amount.Amount
	for _, claim := range inFlight {
		part, _ := claim.under(q).Get(resource)
		sum = sum.Add(part)
	}
	return sum
}
