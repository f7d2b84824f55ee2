package view

import (
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// maxInformerLag is how long the informer may show versions older than the answer to our own write. If that is its last word for so
// long, the server was restored from a backup, and counts versions anew: our write is undone, and what it shows is true.
const maxInformerLag = time.Minute

// deferStaleVersion passes over a version that is older than the answer to our last write, and keeps it in case no newer one comes.
func (v *View) deferStaleVersion(w *workload, wl *kueue.Workload) {
	if w.staleVersion == nil {
		v.lagging[w.key()] = w
		v.requestCycle()
	}
	w.staleVersion = wl
}

// clearWritten forgets our last write: the informer shows it, or a later one, or the object is gone.
func (v *View) clearWritten(w *workload) {
	w.written, w.staleVersion, w.staleSince = "", nil, time.Time{}
	delete(v.lagging, w.key())
}

// acceptStaleVersions believes what has been passed over for too long, and returns when to do so for the next; the zero time for none.
func (v *View) acceptStaleVersions(now time.Time) time.Time {
	var next time.Time
	for _, w := range v.lagging {
		if w.staleSince.IsZero() {
			w.staleSince = now
		}
		if at := w.staleSince.Add(maxInformerLag); now.Before(at) {
			next = earlierNonZero(next, at)
			continue
		}
		last := w.staleVersion
		v.clearWritten(w)
		v.observeWorkload(w, last)
	}
	return next
}
