package podgroup

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/worker/kube"
)

// pendingWrites remembers writes whose answer has no version to compare with: pods that were deleted and Workloads that were created.
// Each is forgotten when the cache shows it, or after kube.MaxCacheLag. It is safe for concurrent use.
type pendingWrites struct {
	mu      sync.Mutex
	deleted map[types.UID]time.Time
	created map[unit]time.Time
}

func newPendingWrites() *pendingWrites {
	return &pendingWrites{deleted: map[types.UID]time.Time{}, created: map[unit]time.Time{}}
}

// recordDeletion expects the cache to show that the pod is being deleted, or to show it no more.
func (w *pendingWrites) recordDeletion(pod *corev1.Pod, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleted[pod.UID] = now
	sweep(w.deleted, now)
}

// isDeleting tells whether the pod was deleted and the cache does not show that.
func (w *pendingWrites) isDeleting(pod *corev1.Pod, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, found := w.deleted[pod.UID]
	if found && (!pod.DeletionTimestamp.IsZero() || now.Sub(at) > kube.MaxCacheLag) {
		delete(w.deleted, pod.UID)
		return false
	}
	return found
}

// recordCreation expects the cache to show the Workload of the unit.
func (w *pendingWrites) recordCreation(u unit, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created[u] = now
	sweep(w.created, now)
}

// isCreating tells whether a Workload was created, and the cache does not show it.
func (w *pendingWrites) isCreating(u unit, shown bool, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, found := w.created[u]
	if found && (shown || now.Sub(at) > kube.MaxCacheLag) {
		delete(w.created, u)
		return false
	}
	return found
}

// minSweep is how many writes are remembered before those are looked for that nobody asked for any more.
const minSweep = 4096

// sweep forgets what was written long ago, once there is much of it.
func sweep[K comparable](writes map[K]time.Time, now time.Time) {
	if len(writes) < minSweep {
		return
	}
	for key, at := range writes {
		if now.Sub(at) > kube.MaxCacheLag {
			delete(writes, key)
		}
	}
}

// maxWarnings bounds what is remembered of warnings.
const maxWarnings = 4096

// warnings remembers what the users of pods were last told, so that they are told once: a group is looked at for each of its pods
// that come.
type warnings struct{ last *lru.Cache }

func newWarnings() *warnings { return &warnings{lru.New(maxWarnings)} }

// isNew tells whether a warning differs from the last one, and remembers it. An empty one says that there is nothing to complain
// about.
func (w *warnings) isNew(about reconcile.Request, text string) bool {
	last, _ := w.last.Get(about)
	if last == text || last == nil && text == "" {
		return false
	}
	if text == "" {
		w.last.Remove(about)
		return false
	}
	w.last.Add(about, text)
	return true
}
