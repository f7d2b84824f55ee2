package view

import (
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// catchUp is how long the informer may show versions older than the answer to our own write. If that is its last word for so
// long, the server was restored from a backup, and counts versions anew: our write is undone, and what it shows is true.
const catchUp = time.Minute

// hide passes over a version that is older than the answer to our last write, and keeps it in case no newer one comes.
func (v *View) hide(w *workload, wl *kueue.Workload) {
	if w.hidden == nil {
		v.late[w.key()] = w
		v.signal()
	}
	w.hidden = wl
}

// caughtUp forgets our last write: the informer shows it, or a later one, or the object is gone.
func (v *View) caughtUp(w *workload) {
	w.written, w.hidden, w.hiddenSince = "", nil, time.Time{}
	delete(v.late, w.key())
}

// restore believes what has been passed over for too long, and returns when to do so for the next; the zero time for none.
func (v *View) restore(now time.Time) time.Time {
	var next time.Time
	for _, w := range v.late {
		if w.hiddenSince.IsZero() {
			w.hiddenSince = now
		}
		if at := w.hiddenSince.Add(catchUp); now.Before(at) {
			next = sooner(next, at)
			continue
		}
		last := w.hidden
		v.caughtUp(w)
		v.see(w, last)
	}
	return next
}
