package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// removalCache remembers for some seconds which objects a worker was told to remove, and answered that it does or that they are
// gone: on a busy machine the informers show them for a while yet, and whatever is decided meanwhile would remove them again. What a
// later connection shows is there, or there again: a worker may have been put back to a backup, which the same connection may survive.
type removalCache struct {
	mu                sync.Mutex
	rotatedAt         time.Time
	current, previous map[removedObject]bool // since began, and before that
}

// removedObject is an object that was removed over a connection to its cluster, see fleet.State.
type removedObject struct {
	uid        types.UID
	connection int64
}

// removalTTL is how long a removal is remembered at least; at most it is twice as long. What is still there afterwards is removed again.
const removalTTL = 10 * time.Second

// record remembers objects.
func (m *removalCache) record(uids []types.UID, connection int64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rotate(now)
	if m.current == nil {
		m.current = map[removedObject]bool{}
	}
	for _, uid := range uids {
		m.current[removedObject{uid, connection}] = true
	}
}

// rotate forgets what is old; it needs the lock.
func (m *removalCache) rotate(now time.Time) {
	age := now.Sub(m.rotatedAt)
	if age < removalTTL {
		return
	}
	m.previous = m.current
	if age >= 2*removalTTL {
		m.previous = nil
	}
	m.rotatedAt, m.current = now, nil
}

// withoutRemoved is what is seen over a connection without what was removed over it already. A copy that waits for our finalizer to be taken
// off is left.
func (m *removalCache) withoutRemoved(seen mirror.Found, connection int64, now time.Time) mirror.Found {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rotate(now)
	isRemoved := func(uid types.UID) bool {
		one := removedObject{uid, connection}
		return m.current[one] || m.previous[one]
	}
	if seen.Job != nil && isRemoved(seen.Job.GetUID()) {
		seen.Job = nil
	}
	if wl := seen.Workload; wl != nil && isRemoved(wl.UID) {
		if wl.DeletionTimestamp.IsZero() || !slices.Contains(wl.Finalizers, kueue.ResourceInUseFinalizer) {
			seen.Workload = nil
		}
	}
	return seen
}

// removedUIDs are the objects seen that a removal below an epoch removes, see mirror.Removal.
func removedUIDs(o mirror.Original, seen mirror.Found, below int64) []types.UID {
	removable := func(h dispatch.Holder, epoch int64) bool {
		return h == dispatch.Predecessor || (h == dispatch.Ours || h == dispatch.Relabelled) && dispatch.IsBelow(epoch, below)
	}
	var uids []types.UID
	if c := o.ObserveWorkload(seen.Workload); removable(c.Holder, c.Epoch) {
		uids = append(uids, seen.Workload.UID)
	}
	if seen.Job == nil {
		return uids
	}
	if j := o.ObserveJob(seen.Job); removable(j.Holder, j.Epoch) {
		uids = append(uids, seen.Job.GetUID())
	}
	return uids
}

// connectionNumber is the number of the present connection to a cluster, or of the last one.
func (r *WorkloadReconciler) connectionNumber(cluster string) int64 {
	state, _ := r.Fleet.State(cluster)
	return state.ConnectionNumber
}
