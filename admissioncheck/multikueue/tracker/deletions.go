package tracker

import (
	"maps"
	"slices"

	"switchyard.dev/worker/admission"
)

// Deletions remembers which Workloads were seen to go. [Tracker.Deletions] returns it. What it knows of a Workload counts until
// nothing of the Workload is left on any cluster, see [Tracker.ForgetWorkload].
type Deletions struct {
	// witnessed are the Workloads that this program has seen, of which the hub's own record would not tell.
	witnessed map[admission.Key]Witnessed
	// deleted are the Workloads that were seen to go.
	deleted map[admission.Key]bool
}

// Deletions returns what is remembered of Workloads that have gone. It is guarded by the lock of the Tracker.
func (t *Tracker) Deletions() *Deletions { return &t.deletions }

// Witnessed is a Workload that this program has seen. What bears one of these UIDs was made for it.
type Witnessed struct {
	UID string
	// EarlierSlice is the UID of the slice of the same job that the job on a worker was made for, empty for none.
	EarlierSlice string
}

// Witness records that a Workload exists which has a copy made in a time that the hub has no record of: if it goes from now on,
// this program knows that it did. EarlierSlice is empty if no job of an earlier slice is seen now.
func (d *Deletions) Witness(w Workload, earlierSlice string) {
	if known := d.witnessed[w.Key]; earlierSlice == "" && known.UID == w.UID {
		return
	}
	d.witnessed[w.Key] = Witnessed{UID: w.UID, EarlierSlice: earlierSlice}
}

// Witnessed returns the Workload of a name that was witnessed; false for none.
func (d *Deletions) Witnessed(key admission.Key) (w Witnessed, ok bool) {
	w, ok = d.witnessed[key]
	return w, ok
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
