package fence

import (
	"cmp"
	"slices"
	"time"
)

const (
	// DefaultDuration is how long a lease holds that does not say so, and how long a fence that has just begun waits for a
	// lease that is not there.
	DefaultDuration = 40 * time.Second
	// CheckInterval is the longest time between two looks at a lease that holds: a clock that was set, or a machine that slept,
	// is noticed within it.
	CheckInterval = 5 * time.Second
)

// Lease is a hub's run lease as it is stored: it holds until Renewed + Duration.
type Lease struct {
	// Renewed is when the hub renewed it, by the hub's clock; never zero.
	Renewed time.Time
	// Duration is how long a renewal holds. Zero or less means DefaultDuration.
	Duration time.Duration
}

func (l Lease) duration() time.Duration {
	if l.Duration <= 0 {
		return DefaultDuration
	}
	return l.Duration
}

func (l Lease) equal(m Lease) bool { return l.Renewed.Equal(m.Renewed) && l.Duration == m.Duration }

// Workload is one Workload on this cluster that bears the hub's origin.
type Workload struct {
	Namespace, Name string
	// Stop tells that the stamp OnHubLost on it says Stop; with any other, or none, the job keeps running.
	Stop bool
	// Finished jobs are left alone: how they ended is a fact.
	Finished bool
	// Stopping tells that it has been deactivated, or asked to be, or is being deleted: there is nothing to add.
	Stopping bool
	// HasQuota tells that it holds quota and so may be running.
	HasQuota bool
}

// IsStoppable tells whether the job would be stopped if its hub's lease ran out.
func (j Workload) IsStoppable() bool { return j.Stop && !j.Finished && !j.Stopping }

// State is what a fence remembers of one hub, in memory only. The zero State has seen nothing.
type State struct {
	// Seen is the last lease that was there; Seen.Renewed is zero if there never was one.
	Seen Lease
	// SeenAt is the uptime at which Seen was first seen.
	SeenAt time.Duration
	// Expired tells that the lease has run out since. Only a renewal takes it back: a clock that is set backwards does not.
	Expired bool
	// Reason is why, or why not.
	Reason Reason
}

// Observation is what a fence sees of one hub.
type Observation struct {
	// Now is the worker's clock, which may be wrong and may be set.
	Now time.Time
	// Uptime is for how long the fence has been looking, by a clock that only goes forward.
	Uptime time.Duration
	// Lease is the hub's lease; nil if there is none or it was never renewed.
	Lease *Lease
	// Workloads are the hub's Workloads on this cluster, in any order. They matter only when the lease has run out.
	Workloads []Workload
}

// Plan is what a fence has to do.
type Plan struct {
	Next State
	// Stop are the jobs to evict: those that hold quota first, otherwise by namespace and name.
	Stop []Workload
	// RequeueAt is when to look again though nothing changed, by the clock of Observation.Now; zero for never.
	RequeueAt time.Time
}

// Step decides about one hub. It is deterministic; applied again to its own Next with the same observation it decides the
// same. A job whose stop fails is found at the next look.
func Step(s State, o Observation) Plan {
	p := Plan{Next: s.Observe(o)}
	if !p.Next.Expired {
		p.RequeueAt = o.Now.Add(min(p.Next.remaining(o), CheckInterval))
		return p
	}
	for _, job := range o.Workloads {
		if job.IsStoppable() {
			p.Stop = append(p.Stop, job)
		}
	}
	slices.SortFunc(p.Stop, compareUrgency)
	if len(p.Stop) > 0 {
		p.RequeueAt = o.Now.Add(CheckInterval)
	}
	return p
}

// Observe returns what is remembered after a look at the lease; the jobs do not matter to it.
func (s State) Observe(o Observation) State {
	if o.Lease != nil && (!s.hasLease() || !s.Seen.equal(*o.Lease)) {
		s = State{Seen: *o.Lease, SeenAt: o.Uptime}
	}
	switch {
	case s.Expired:
	case !s.hasLease() && o.Uptime < DefaultDuration:
		s.Reason = LeaseAwaited
	case !s.hasLease():
		s.Expired, s.Reason = true, LeaseMissing
	case !o.Now.Before(s.Seen.Renewed.Add(s.Seen.duration())):
		s.Expired, s.Reason = true, LeaseExpired
	case o.Uptime-s.SeenAt >= s.Seen.duration():
		s.Expired, s.Reason = true, LeaseNotRenewed
	default:
		s.Reason = LeaseHolds
	}
	return s
}

// hasLease tells whether there ever was a lease.
func (s State) hasLease() bool { return !s.Seen.Renewed.IsZero() }

// remaining is how long the lease holds unless it is renewed: whichever of the two clocks is through with it first. It is more
// than zero for a lease that holds.
func (s State) remaining(o Observation) time.Duration {
	if !s.hasLease() {
		return DefaultDuration - o.Uptime
	}
	return min(s.Seen.Renewed.Add(s.Seen.duration()).Sub(o.Now), s.SeenAt+s.Seen.duration()-o.Uptime)
}

// compareUrgency orders jobs to stop: what may be running goes first.
func compareUrgency(a, b Workload) int {
	if a.HasQuota != b.HasQuota {
		if a.HasQuota {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
