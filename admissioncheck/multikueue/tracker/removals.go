package tracker

import "time"

// removals remembers for some seconds which objects a cluster was told to remove, and answered that it does or that they are
// gone: on a busy machine the informers show them for a while yet. What a later connection shows is there, or there again: a
// worker may have been restored from a backup.
//
// It keeps two generations. Current begins at rotatedAt; previous is the one before.
type removals struct {
	rotatedAt         time.Time
	current, previous map[removedObject]bool
}

// removedObject is an object that was removed over a connection to its cluster.
type removedObject struct {
	uid        string
	connection int64
}

// removalTTL is how long a removal is remembered at least; at most it is twice as long. What is still there afterwards is
// removed again.
const removalTTL = 10 * time.Second

// record remembers objects that were removed over a connection.
func (r *removals) record(uids []string, connection int64, now time.Time) {
	r.rotate(now)
	if r.current == nil {
		r.current = map[removedObject]bool{}
	}
	for _, uid := range uids {
		r.current[removedObject{uid, connection}] = true
	}
}

// rotate begins a new generation if the present one is removalTTL old.
func (r *removals) rotate(now time.Time) {
	age := now.Sub(r.rotatedAt)
	if age < removalTTL {
		return
	}
	r.previous = r.current
	if age >= 2*removalTTL {
		r.previous = nil
	}
	r.rotatedAt, r.current = now, nil
}

// IsRemoved reports whether an object that is seen over a connection was removed over it lately.
func (t *Tracker) IsRemoved(uid string, connection int64, now time.Time) bool {
	t.removals.rotate(now)
	object := removedObject{uid, connection}
	return t.removals.current[object] || t.removals.previous[object]
}
