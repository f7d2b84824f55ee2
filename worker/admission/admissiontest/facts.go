package admissiontest

import (
	"maps"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// Facts is what a script has said, without anything that follows from it.
type Facts struct {
	Queues       map[string]admission.ClusterQueue
	Cohorts      map[string]admission.Cohort
	Flavors      map[string]admission.Flavor
	Pending      map[string]admission.Workload
	Reservations map[string]admission.Reservation
	// RecentUsage is what LocalQueues used of late.
	RecentUsage map[string]amount.Amount
	// assumed are workloads that a cycle admitted and that nothing was said about since.
	assumed map[string]admission.Workload
}

// NewFacts returns no facts.
func NewFacts() *Facts {
	return &Facts{
		Queues: map[string]admission.ClusterQueue{}, Cohorts: map[string]admission.Cohort{},
		Flavors: map[string]admission.Flavor{}, Pending: map[string]admission.Workload{},
		Reservations: map[string]admission.Reservation{}, RecentUsage: map[string]amount.Amount{}, assumed: map[string]admission.Workload{},
	}
}

// Apply takes in a step. Steps that only show something, cycles included, change no facts.
func (f *Facts) Apply(s Step) {
	switch s.Verb {
	case "queue":
		f.Queues[s.Name] = s.Queue
	case "cohort":
		f.Cohorts[s.Name] = s.Cohort
	case "flavor":
		f.Flavors[s.Name] = s.Flavor
	case "pending":
		f.removeWorkload(s.Name)
		f.Pending[s.Name] = s.Workload
	case "admitted", "reserving":
		f.removeWorkload(s.Name)
		f.Reservations[s.Name] = s.Reservation
	case "usage":
		f.RecentUsage[s.Name] = s.Usage
	case "remove":
		f.removeWorkload(s.Name)
	case "release":
		delete(f.Reservations, s.Name)
		delete(f.assumed, s.Name)
	case "forget":
		if w, found := f.assumed[s.Name]; found {
			f.removeWorkload(s.Name)
			f.Pending[s.Name] = w
		}
	case "delete":
		f.deleteObject(s)
	}
}

func (f *Facts) removeWorkload(name string) {
	delete(f.Pending, name)
	delete(f.Reservations, name)
	delete(f.assumed, name)
}

func (f *Facts) deleteObject(s Step) {
	switch s.ObjectKind {
	case "queue":
		delete(f.Queues, s.Name)
	case "cohort":
		delete(f.Cohorts, s.Name)
	case "flavor":
		delete(f.Flavors, s.Name)
	}
}

// Assume takes in that a cycle admitted a waiting workload.
func (f *Facts) Assume(name string, a *admission.Assignment) {
	w := f.Pending[name]
	f.removeWorkload(name)
	f.assumed[name] = w
	f.Reservations[name] = admission.Reservation{
		Key: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue, Usage: a.Usage, Assumed: true,
		UID: w.UID, Priority: w.Priority, QueuedAt: w.QueuedAt,
	}
}

// Snapshot builds a snapshot of the facts from scratch. Backoffs that ended are not remembered to have ended.
func (f *Facts) Snapshot() *admission.Snapshot {
	s := admission.NewSnapshot()
	for _, name := range slices.Sorted(maps.Keys(f.Flavors)) {
		s.UpsertFlavor(f.Flavors[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Cohorts)) {
		s.UpsertCohort(f.Cohorts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Queues)) {
		s.UpsertQueue(f.Queues[name])
	}
	for name, used := range f.RecentUsage {
		s.SetLocalUsage(Key(name), used)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Reservations)) {
		if w, assumed := f.assumed[name]; assumed {
			s.Push(w)
			s.Assume(s.PendingWorkload(w.Key), &admission.Assignment{Usage: f.Reservations[name].Usage}, f.Reservations[name].ReservedAt)
			continue
		}
		s.Admit(f.Reservations[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Pending)) {
		s.Push(f.Pending[name])
	}
	return s
}
