package tracker

import (
	"maps"
	"slices"

	"switchyard.dev/worker/admission"
)

// Witness records that a Workload exists which has a copy made in a time that the hub has no record of: if it goes from now on, this
// program knows that it did.
func (t *Tracker) Witness(w Workload) { t.witnessed[w.Key] = w.UID }

// WitnessedUID returns the UID of the Workload of a name that was witnessed; false for none.
func (t *Tracker) WitnessedUID(key admission.Key) (uid string, ok bool) {
	uid, ok = t.witnessed[key]
	return uid, ok
}

// RecordDeleted records that the Workload of a name was seen to go.
func (t *Tracker) RecordDeleted(key admission.Key) { t.deleted[key] = true }

// WasDeleted reports whether the Workload of a name was seen to go, and something of it may be left on clusters.
func (t *Tracker) WasDeleted(key admission.Key) bool { return t.deleted[key] }

// DeletedWorkloads lists them.
func (t *Tracker) DeletedWorkloads() []admission.Key { return slices.Collect(maps.Keys(t.deleted)) }
