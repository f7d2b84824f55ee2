package admission

import (
	"slices"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// Line is the waiting line of a ClusterQueue.
type Line = order.Queue[*Waiter, Want]

// Place is a workload's place in a line.
type Place = order.Member[*Waiter, Want]

// Class is the workloads in a line that quota and flavors cannot tell apart.
type Class = order.EquivalenceClass[*Waiter, Want]

// kindCount is how many of one kind wait in a line.
type kindCount = order.ClassCount[*Waiter, Want]

// Notice is what a waiting workload is told.
type Notice = order.WaitReason

// Want is what a workload that cannot be admitted waits for, beside a change of its own and of the configuration. The zero
// value waits for nothing else.
type Want struct {
	// Any is whether any quota that is given back in the cohort tree could help.
	Any bool
	// Lacks is what was not available, in all flavors that were tried, sorted by the order in which they were: giving back
	// other flavor-resources does not help.
	Lacks []Lack
	// Less is whether it could help to lack less, because preemption might find the rest; otherwise at least one of Lacks
	// must be available in full.
	Less bool
	// Claimed is whether the quota of those who wait for their victims was counted as taken, so that each cycle on the
	// cohort tree has to look again.
	Claimed bool
	// Unconfirmed is whether the admission of somebody was still being written, who could be evicted for it afterwards.
	Unconfirmed bool
	// Gated is whether it could evict others if its preemption gates were open.
	Gated bool
	// Ready is whether it waits for the pods of admitted workloads to be ready.
	Ready bool
}

// Lack is an amount of a flavor-resource that a queue had not available.
type Lack struct {
	FlavorResource
	Cell   *quota.Cell
	Amount amount.Amount
}

// lacks reports whether it lacks one of the flavor-resources.
func (w Want) lacks(r *relief) bool {
	return slices.ContainsFunc(w.Lacks, func(lack Lack) bool { return r.names[lack.FlavorResource] })
}

// metBy reports whether what was given back could make a difference.
func (w Want) metBy(r *relief) bool {
	if w.Any || r.all {
		return true
	}
	for _, lack := range w.Lacks {
		if r.names[lack.FlavorResource] && (w.Less || lack.Cell.Available() >= lack.Amount) {
			return true
		}
	}
	return false
}

// relief is what a cohort tree has more of since the last cycle.
type relief struct {
	// all stands for anything: limits may have moved.
	all   bool
	names map[FlavorResource]bool
}

func (r *relief) add(u Usage) {
	for _, use := range u {
		if r.names == nil {
			r.names = map[FlavorResource]bool{}
		}
		r.names[use.FlavorResource] = true
	}
}

func (r *relief) merge(other *relief) {
	r.all = r.all || other.all
	for name := range other.names {
		if r.names == nil {
			r.names = map[FlavorResource]bool{}
		}
		r.names[name] = true
	}
}

// stir notes that the queue's tree has back what the usage says.
func (s *Snapshot) stir(queue string, u Usage) { reliefOf(s.stirredQueues, queue).add(u) }

// stirAll notes that limits in the queue's tree may have moved.
func (s *Snapshot) stirAll(queue string) { reliefOf(s.stirredQueues, queue).all = true }

func reliefOf(reliefs map[string]*relief, queue string) *relief {
	r, found := reliefs[queue]
	if !found {
		r = &relief{}
		reliefs[queue] = r
	}
	return r
}

// wakeStirred wakes those that wait for what was given back or redistributed in their trees.
func (s *Snapshot) wakeStirred() {
	if len(s.stirredCohorts)+len(s.stirredQueues) == 0 {
		return
	}
	// Families are disjoint, so that their first member names them.
	reliefs := map[string]*relief{}
	families := map[string][]string{}
	note := func(family []string, r *relief) {
		if len(family) == 0 {
			return
		}
		if sum, found := reliefs[family[0]]; found {
			sum.merge(r)
			return
		}
		reliefs[family[0]], families[family[0]] = r, family
	}
	for cohort := range s.stirredCohorts {
		note(s.quota.CohortFamily(cohort), &relief{all: true})
	}
	for queue, r := range s.stirredQueues {
		note(s.quota.Family(queue), r)
	}
	for root, r := range reliefs {
		for _, queue := range families[root] {
			s.wakeIf(queue, func(w Want) bool { return w.metBy(r) })
		}
	}
	clear(s.stirredCohorts)
	clear(s.stirredQueues)
}

// wake makes everybody in the queue's line eligible again.
func (s *Snapshot) wake(queue string) {
	if d, found := s.desks[queue]; found && d.line != nil {
		d.line.RequeueAll()
		s.keepBusy(d)
	}
}

func (s *Snapshot) wakeIf(queue string, over func(Want) bool) {
	if d, found := s.desks[queue]; found && d.line != nil && d.line.RequeueIf(over) {
		s.keepBusy(d)
	}
}
