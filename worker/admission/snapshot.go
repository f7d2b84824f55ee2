package admission

import (
	"reflect"
	"time"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// Snapshot is the state that scheduling cycles decide on. NewSnapshot makes one.
//
// Every workload in it is in exactly one state: it waits in a line, it waits for its backoff to end, or it holds quota.
type Snapshot struct {
	quota   *quota.Tree
	desks   map[string]*desk
	cohorts map[string]*Cohort
	flavors map[string]*Flavor

	tenants map[Key]*tenant
	delayed *order.Heap[*Waiter]
	holders holders
	locals  map[Key]*localDesk

	// stirred queues and cohorts belong to trees in which quota was released or redistributed since the last cycle.
	stirredQueues  map[string]*relief
	stirredCohorts map[string]bool
	// busy has every desk whose line has a head or news, and possibly others.
	busy []*desk
	// busySorted is whether busy is sorted by name.
	busySorted bool
	// localUsage is the recent usage of the LocalQueues that have any.
	localUsage map[Key]amount.Amount
	// deskOf finds the line that a LocalQueue's workloads joined last, if its queue is ordered by usage.
	deskOf map[Key]*desk
	// claims are the heads that wait for quota with a right to it, by queue.
	claims map[string]claim
	// passed are the lines in which somebody may wait with Want.Claimed, Want.Unconfirmed or Want.Ready.
	passed map[string]*desk
	// assumed counts the reservations that a cycle made and nobody confirmed, and confirmed says by queue what was
	// confirmed since the last cycle.
	assumed   int
	confirmed map[string]*relief
	// unready counts those that are admitted, or assumed to be, and whose pods are not ready.
	unready int
	// scratch is reused to spell kinds.
	scratch []byte
}

// tenant is a workload of the snapshot: it either waits or holds quota.
type tenant struct {
	waits *Waiter
	holds *holder
}

// Waiter is a workload that waits: in a line, or until its NotBefore.
type Waiter struct {
	Workload
	tenant *tenant
	desk   *desk
	local  *localDesk
	kind   string
	// place is nil outside of lines.
	place *Place
	at    int
}

// Active reports whether the workload will be looked at in the next cycle or as soon as those before it are out of the way:
// see QueueStatus.
func (e *Waiter) Active() bool { return e.place != nil && !e.place.IsInadmissible() }

// holder is a workload that holds quota.
type holder struct {
	Reservation
	tenant *tenant
	desk   *desk
	local  *localDesk
	// assumed is the workload as it waited, while no more than a cycle says that it holds quota.
	assumed *Workload
	// marked is whether a plan evicts the workload and Admit has not reported it as evicted.
	marked bool
}

// NewSnapshot returns an empty snapshot.
func NewSnapshot() *Snapshot {
	return &Snapshot{
		quota:   quota.NewTree(),
		desks:   map[string]*desk{},
		cohorts: map[string]*Cohort{},
		flavors: map[string]*Flavor{},
		tenants: map[Key]*tenant{},
		delayed: order.NewHeap(
			func(a, b *Waiter) int { return a.NotBefore.Compare(b.NotBefore) },
			func(e *Waiter, at int) { e.at = at },
		),
		holders:        newHolders(),
		locals:         map[Key]*localDesk{},
		stirredQueues:  map[string]*relief{},
		claims:         map[string]claim{},
		passed:         map[string]*desk{},
		confirmed:      map[string]*relief{},
		deskOf:         map[Key]*desk{},
		stirredCohorts: map[string]bool{},
		localUsage:     map[Key]amount.Amount{},
	}
}

// UpsertQueue adds or replaces a ClusterQueue. A change makes the parked workloads of its cohort tree eligible again;
// repeating what is known does nothing.
func (s *Snapshot) UpsertQueue(q Queue) {
	d := s.desk(q.Name)
	if old := d.queue; old != nil {
		if reflect.DeepEqual(*old, q) {
			return
		}
		s.stirredCohorts[old.Cohort] = true
	}
	wasUsageBased := d.usageBased()
	d.queue = &q
	s.quota.SetQueue(q.Name, q.Cohort, Grants(q.Groups))
	s.quota.WeighQueue(q.Name, q.Weight)
	s.regroup(d, wasUsageBased)
	s.queueChanged(d)
}

// DeleteQueue removes a ClusterQueue. Its waiting workloads stay and are told that it is missing; its reservations stay
// until released.
func (s *Snapshot) DeleteQueue(name string) {
	d := s.peek(name)
	if d.queue == nil {
		return
	}
	s.stirredCohorts[d.queue.Cohort] = true
	wasUsageBased := d.usageBased()
	d.queue = nil
	s.quota.DeleteQueue(name)
	s.regroup(d, wasUsageBased)
	s.queueChanged(d)
	s.tidy(d)
}

// queueChanged forgets what followed from the queue's specification and wakes its line and its tree.
func (s *Snapshot) queueChanged(d *desk) {
	d.menu = nil
	s.stirAll(d.name)
	s.wake(d.name)
}

// UpsertCohort adds or replaces a Cohort object; as with UpsertQueue, a change wakes its tree.
func (s *Snapshot) UpsertCohort(c Cohort) {
	if old, found := s.cohorts[c.Name]; found {
		if reflect.DeepEqual(*old, c) {
			return
		}
		s.stirredCohorts[old.Parent] = true
	}
	s.cohorts[c.Name] = &c
	s.quota.SetCohort(c.Name, c.Parent, Grants(c.Groups))
	s.quota.WeighCohort(c.Name, c.Weight)
	s.stirredCohorts[c.Name] = true
}

// DeleteCohort removes a Cohort object. Its members stay together under an implicit cohort of that name.
func (s *Snapshot) DeleteCohort(name string) {
	old, found := s.cohorts[name]
	if !found {
		return
	}
	delete(s.cohorts, name)
	s.quota.DeleteCohort(name)
	s.stirredCohorts[old.Parent] = true
	s.stirredCohorts[name] = true
}

// UpsertFlavor adds or replaces a ResourceFlavor; a change wakes the queues that use it.
func (s *Snapshot) UpsertFlavor(f Flavor) {
	if old, found := s.flavors[f.Name]; found && reflect.DeepEqual(*old, f) {
		return
	}
	s.flavors[f.Name] = &f
	s.flavorChanged(f.Name)
}

// DeleteFlavor removes a ResourceFlavor.
func (s *Snapshot) DeleteFlavor(name string) {
	if _, found := s.flavors[name]; !found {
		return
	}
	delete(s.flavors, name)
	s.flavorChanged(name)
}

func (s *Snapshot) flavorChanged(flavor string) {
	for name, d := range s.desks {
		if d.queue != nil && d.queue.offers(flavor) {
			d.menu = nil
			s.wake(name)
		}
	}
}

// Queue returns a ClusterQueue as last upserted.
func (s *Snapshot) Queue(name string) (Queue, bool) {
	if q := s.peek(name).queue; q != nil {
		return *q, true
	}
	return Queue{}, false
}

// Flavor returns a ResourceFlavor as last upserted.
func (s *Snapshot) Flavor(name string) (Flavor, bool) {
	if f, found := s.flavors[name]; found {
		return *f, true
	}
	return Flavor{}, false
}

// CohortCycle reports whether a ClusterQueue is inactive because its cohort's parents form a cycle (contract:
// kueue-api.md 4.5).
func (s *Snapshot) CohortCycle(queue string) bool { return s.quota.Cyclic(queue) }

// NextWake returns when the earliest backoff ends, the zero time if no workload waits for the clock.
func (s *Snapshot) NextWake() time.Time {
	if s.delayed.Len() == 0 {
		return time.Time{}
	}
	return s.delayed.First().NotBefore
}
