package admissiontest

import (
	"maps"
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// Facts is what a script has said, without anything that follows from it.
type Facts struct {
	Queues  map[string]admission.Queue
	Cohorts map[string]admission.Cohort
	Flavors map[string]admission.Flavor
	Pending map[string]admission.Workload
	Holding map[string]admission.Reservation
	// Used is what LocalQueues used of late.
	Used map[string]amount.Amount
	// assumed are workloads that a cycle admitted and that nothing was said about since.
	assumed map[string]admission.Workload
}

// NewFacts returns no facts.
func NewFacts() *Facts {
	return &Facts{
		Queues: map[string]admission.Queue{}, Cohorts: map[string]admission.Cohort{},
		Flavors: map[string]admission.Flavor{}, Pending: map[string]admission.Workload{},
		Holding: map[string]admission.Reservation{}, Used: map[string]amount.Amount{}, assumed: map[string]admission.Workload{},
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
		f.drop(s.Name)
		f.Pending[s.Name] = s.Workload
	case "admitted", "reserving":
		f.drop(s.Name)
		f.Holding[s.Name] = s.Reservation
	case "usage":
		f.Used[s.Name] = s.Usage
	case "remove":
		f.drop(s.Name)
	case "release":
		delete(f.Holding, s.Name)
		delete(f.assumed, s.Name)
	case "forget":
		if w, found := f.assumed[s.Name]; found {
			f.drop(s.Name)
			f.Pending[s.Name] = w
		}
	case "delete":
		f.delete(s)
	}
}

func (f *Facts) drop(name string) {
	delete(f.Pending, name)
	delete(f.Holding, name)
	delete(f.assumed, name)
}

func (f *Facts) delete(s Step) {
	switch s.Kind {
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
	f.drop(name)
	f.assumed[name] = w
	f.Holding[name] = admission.Reservation{
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
	for name, used := range f.Used {
		s.SetLocalUsage(Key(name), used)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Holding)) {
		if w, assumed := f.assumed[name]; assumed {
			s.Push(w)
			s.Assume(s.Waiter(w.Key), &admission.Assignment{Usage: f.Holding[name].Usage}, f.Holding[name].ReservedAt)
			continue
		}
		s.Admit(f.Holding[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Pending)) {
		s.Push(f.Pending[name])
	}
	return s
}
