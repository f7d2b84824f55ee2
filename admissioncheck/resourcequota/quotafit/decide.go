package quotafit

import (
	"time"

	"switchyard.dev/worker/admission/amount"
)

// Observation is all that a decision may look at.
type Observation struct {
	Now time.Time
	// ReservedAt is when the workload's quota was reserved.
	ReservedAt time.Time
	// Passed tells that this reservation was let pass before.
	Passed bool
	// Quotas of the namespace, sorted by name.
	Quotas []Quota
	// Requested is what the workload may create.
	Requested Claim
	// InFlight is what other workloads that were let pass may still create.
	InFlight []Claim
	// Retries is how often this check has sent the workload back.
	Retries int32
}

// Policy holds the waiting times.
type Policy struct {
	// GracePeriod is how long after the reservation to wait for room, holding it, before the workload is sent back. Quotas are
	// counted down a moment after a pod ends, often just after its end has let the next workload in.
	GracePeriod time.Duration
	// BaseDelay is the delay before the first new try; it doubles with each, up to LongestDelay, which also is the delay of a
	// workload that waits for a change by an administrator.
	BaseDelay, MaxDelay time.Duration
}

// Reason says why an Answer is what it is.
type Reason string

// The reasons.
const (
	// Passed: the reservation was let pass before, and stays so.
	AlreadyPassed Reason = "Passed"
	// NoQuota: no ResourceQuota restricts what the workload creates.
	NoQuota Reason = "NoQuota"
	// WithinQuota: everything fits.
	WithinQuota Reason = "HasRoom"
	// Uncounted: the cluster has not counted the use of a quota yet.
	Uncounted Reason = "Uncounted"
	// QuotaExceeded: what is used and promised leaves too little.
	QuotaExceeded Reason = "NoRoom"
	// Undeclared: a quota restricts a resource that the pods do not declare, so the API server would refuse them.
	Undeclared Reason = "Undeclared"
	// TooLarge: the workload alone asks for more than a quota has.
	TooLarge Reason = "TooLarge"
)

// severity orders reasons not to let a workload pass: that of the highest rank is the Answer's.
func (r Reason) severity() int {
	switch r {
	case TooLarge:
		return 4
	case Undeclared:
		return 3
	case QuotaExceeded:
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
	Quota, Resource                 string
	Reason                          Reason
	Requested, Used, Promised, Hard amount.Amount
}

// Outcome is a decision.
type Outcome struct {
	State  State
	Reason Reason
	// Shortages, by quota and resource, say what is in the way.
	Shortages []Shortage
	// RequeueAfter is the delay of a Retry; zero otherwise.
	RequeueAfter time.Duration
	// RecheckAt is when a Pending answer must be asked for again; zero otherwise.
	RecheckAt time.Time
}

// Decide answers whether the workload may start. It is let pass only if each quota has room for it and for everything that
// was promised to others, and once let pass it stays so until its reservation ends.
func Decide(o Observation, p Policy) Outcome {
	if o.Passed {
		return Outcome{State: Ready, Reason: AlreadyPassed}
	}
	because, concerned := WithinQuota, false
	var shortages []Shortage
	for _, q := range o.Quotas {
		short, restricts := q.shortages(o.Requested, o.InFlight)
		concerned = concerned || restricts
		shortages = append(shortages, short...)
		for _, s := range short {
			if s.Reason.severity() > because.severity() {
				because = s.Reason
			}
		}
	}
	switch {
	case len(shortages) > 0:
		return p.waitOrRetry(o, because, shortages)
	case !concerned:
		return Outcome{State: Ready, Reason: NoQuota}
	default:
		return Outcome{State: Ready, Reason: WithinQuota}
	}
}

// waitOrRetry is the answer to a workload that may not start: wait a moment where that can help, then retry.
func (p Policy) waitOrRetry(o Observation, because Reason, shortages []Shortage) Outcome {
	a := Outcome{State: Retry, Reason: because, Shortages: shortages}
	if until := o.ReservedAt.Add(p.GracePeriod); because.severity() <= QuotaExceeded.severity() && o.Now.Before(until) {
		a.State, a.RecheckAt = Pending, until
		return a
	}
	a.RequeueAfter = p.MaxDelay
	if because.severity() <= QuotaExceeded.severity() {
		a.RequeueAfter = p.backoff(o.Retries)
	}
	return a
}

// backoff doubles with every retry before.
func (p Policy) backoff(retries int32) time.Duration {
	d := p.BaseDelay
	for ; retries > 0 && d < p.MaxDelay; retries-- {
		d *= 2
	}
	return min(d, p.MaxDelay)
}

// shortages are what is in the way of a claim under this quota, by resource. Restricts tells whether the quota has a say at
// all.
func (q Quota) shortages(asked Claim, inFlight []Claim) (short []Shortage, restricts bool) {
	asks := asked.usageIn(q)
	for _, name := range asked.undeclaredIn(q) {
		restricts = true
		hard, _ := q.Hard.Lookup(name)
		short = append(short, Shortage{Quota: q.Name, Resource: name, Reason: Undeclared, Hard: hard})
	}
	for _, hard := range q.Hard {
		ask, _ := asks.Lookup(hard.Resource)
		if ask <= 0 {
			continue
		}
		restricts = true
		s := Shortage{Quota: q.Name, Resource: hard.Resource, Requested: ask, Hard: hard.Amount, Promised: sumClaims(q, hard.Resource, inFlight)}
		used, counted := q.Used.Lookup(hard.Resource)
		s.Used = used
		switch {
		case ask > hard.Amount:
			s.Reason = TooLarge
		case !counted:
			s.Reason = Uncounted
		case used.Add(s.Promised).Add(ask) > hard.Amount:
			s.Reason = QuotaExceeded
		default:
			continue
		}
		short = append(short, s)
	}
	return short, restricts
}

func sumClaims(q Quota, resource string, inFlight []Claim) amount.Amount {
	var sum amount.Amount
	for _, claim := range inFlight {
		part, _ := claim.usageIn(q).Lookup(resource)
		sum = sum.Add(part)
	}
	return sum
}
