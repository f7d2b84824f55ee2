package kube

import (
	"context"
	"errors"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WriteTracker remembers the version of our last write of each object, see [Expectations]. Nothing is decided on what we ourselves have
// changed already: that would cost a write that meets a conflict. A reconcile that is held up by it is repeated after MaxCacheLag at the
// latest: if versions went backwards, no event will come. The zero WriteTracker remembers nothing.
type WriteTracker struct {
	writes Expectations[struct{}]
}

// Record remembers the object as the server returned it.
func (w *WriteTracker) Record(obj client.Object, now time.Time) {
	w.writes.Record(obj, struct{}{}, now)
}

// IsNewerThan reports whether our last write is newer than a cached object.
func (w *WriteTracker) IsNewerThan(cached client.Object, now time.Time) bool {
	return w.writes.IsNewerThan(cached, now)
}

// errCacheBehind is why nothing is compared with a cached object.
var errCacheBehind = errors.New("the cache does not show our last write yet")

// Patch is the function Patch, and remembers the write. It fails with a conflict, without a call, as long as our last write is
// newer than before: what differs from before need not differ from what is stored, and what equals it need not be there.
func (w *WriteTracker) Patch(ctx context.Context, c client.Client, before, after client.Object, now time.Time) (bool, error) {
	if err := w.checkCaughtUp(before, now); err != nil {
		return false, err
	}
	wrote, err := Patch(ctx, c, before, after)
	if wrote && err == nil {
		w.Record(after, now)
	}
	return wrote, err
}

// PatchStatus is the function PatchStatus in the same way.
func (w *WriteTracker) PatchStatus(ctx context.Context, c client.Client, before, after client.Object, now time.Time) (bool, error) {
	if err := w.checkCaughtUp(before, now); err != nil {
		return false, err
	}
	wrote, err := PatchStatus(ctx, c, before, after)
	if wrote && err == nil {
		w.Record(after, now)
	}
	return wrote, err
}

// checkCaughtUp fails with a conflict if the cached object is older than our last write.
func (w *WriteTracker) checkCaughtUp(cached client.Object, now time.Time) error {
	if !w.IsNewerThan(cached, now) {
		return nil
	}
	kind := reflect.Indirect(reflect.ValueOf(cached)).Type().Name()
	return apierrors.NewConflict(schema.GroupResource{Resource: kind}, cached.GetName(), errCacheBehind)
}
