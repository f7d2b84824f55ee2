package tracker

import (
	"maps"
	"slices"

	"switchyard.dev/worker/admission"
)

// Deletions remembers which Workloads were seen to go. [Tracker.Deletions] returns it. What it knows of a Workload counts until
// nothing of the Workload is left on any cluster, see [Tracker.ForgetWorkload].
type Deletions struct {
	// witnessed are the UIDs of Workloads that this program has seen, of which the hub's own record would not tell.
	witnessed map[admission.Key]string
	// deleted are the Workloads that were seen to go.
	deleted map[admission.Key]bool
}

// Deletions returns what is remembered of Workloads that have gone. It is guarded by the lock of the Tracker.
func (t *Tracker) Deletions() *Deletions { return &t.deletions }

// Witness records that a Workload exists which has a copy made in a time that the hub has no record of: if it goes from now on,
// this program knows that it did.
func (d *Deletions) Witness(w Workload) { d.witnessed[w.Key] = w.UID }

// WitnessedUID returns the UID of the Workload of a name that was witnessed; false for none.
func (d *Deletions) WitnessedUID(key admission.Key) (uid string, ok bool) {
	uid, ok = d.witnessed[key]
	return uid, ok
}

// Record records that the Workload of a name was seen to go.
func (d *Deletions) Record(key admission.Key) { d.deleted[key] = true }

// Contains reports whether the Workload of a name was seen to go, and something of it may be left on clusters.
func (d *Deletions) Contains(key admission.Key) bool { return d.deleted[key] }

// List returns the Workloads that were seen to go, in no order.
func (d *Deletions) List() []admission.Key { return slices.Collect(maps.Keys(d.deleted)) }

// forget ends what is known of the Workload of a name.
func (d *Deletions) forget(key admission.Key) {
	delete(d.witnessed, key)
	delete(d.deleted, key)
}
