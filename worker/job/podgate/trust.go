package podgate

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// trustedSlices are the slices by which pods may be let go, one for each job. Whoever may create Workloads can forge one that says it is
// a job's, asks for next to nothing and has a thousand pods; the job's reconciler compares them with the job, and knows better. The zero value
// trusts none, and tells nobody of news.
type trustedSlices struct {
	mu    sync.Mutex
	byJob map[types.UID]types.UID
	// news are slices that were not trusted before.
	news chan event.GenericEvent
}

// maxNews is how many news may wait before their senders do.
const maxNews = 1024

// add trusts a slice in place of the one of the same job before.
func (t *trustedSlices) add(ctx context.Context, slice *kueue.Workload) {
	owner := metav1.GetControllerOfNoCopy(slice)
	if owner == nil || !t.set(owner.UID, slice.UID) || t.news == nil {
		return
	}
	select {
	case t.news <- event.GenericEvent{Object: slice}:
	case <-ctx.Done():
	}
}

// set reports whether that is new.
func (t *trustedSlices) set(job, slice types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byJob[job] == slice {
		return false
	}
	if t.byJob == nil {
		t.byJob = map[types.UID]types.UID{}
	}
	t.byJob[job] = slice
	return true
}

// forget is for a job that has no slices.
func (t *trustedSlices) forget(job types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byJob, job)
}

// among returns the slice of the job that is trusted, nil if none is.
func (t *trustedSlices) among(job types.UID, list []kueue.Workload) *kueue.Workload {
	t.mu.Lock()
	defer t.mu.Unlock()
	trusted, found := t.byJob[job]
	i := slices.IndexFunc(list, func(wl kueue.Workload) bool { return found && wl.UID == trusted })
	if i < 0 {
		return nil
	}
	return &list[i]
}
