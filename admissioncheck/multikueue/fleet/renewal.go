package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// renewalTracker remembers when objects of a cluster that have to be renewed were last seen to change, by our own clock. The
// times outlive sessions: a new connection does not make an object fresh that no program renews.
type renewalTracker struct {
	mu   sync.Mutex
	last map[renewalKey]renewalRecord
}

type renewalKey struct {
	gvk schema.GroupVersionKind
	key types.NamespacedName
}

type renewalRecord struct {
	version string
	at      time.Time
}

// record remembers a version that was seen now; one seen before is no renewal.
func (r *renewalTracker) record(gvk schema.GroupVersionKind, obj client.Object, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := renewalKey{gvk, client.ObjectKeyFromObject(obj)}
	if r.last[of].version == obj.GetResourceVersion() {
		return
	}
	if r.last == nil {
		r.last = map[renewalKey]renewalRecord{}
	}
	r.last[of] = renewalRecord{obj.GetResourceVersion(), now}
}

// forget forgets an object that is gone.
func (r *renewalTracker) forget(gvk schema.GroupVersionKind, obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, renewalKey{gvk, client.ObjectKeyFromObject(obj)})
}

// isFresh reports whether the object was renewed in time. One that was not noted yet has just changed.
func (r *renewalTracker) isFresh(k WatchedKind, obj client.Object, now time.Time) bool {
	if k.RenewalTimeout <= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[renewalKey{k.GVK, client.ObjectKeyFromObject(obj)}]
	return last.version != obj.GetResourceVersion() || now.Before(last.at.Add(k.RenewalTimeout))
}

// GetFresh is Get for an object that has to be renewed (WatchedKind.RenewalTimeout): nil also if it has not been renewed for
// too long, and if it is not known what there is.
func (f *Fleet) GetFresh(cluster string, gvk schema.GroupVersionKind, key types.NamespacedName) client.Object {
	s := f.lookup(cluster)
	if s == nil {
		return nil
	}
	obj, _ := s.get(gvk, storeKey(key))
	if obj == nil || !s.renewals.isFresh(s.informerFor(gvk).kind, obj, s.options.Clock.Now()) {
		return nil
	}
	return obj
}

// errSuperseded says that another kind is served which makes this one needless.
var errSuperseded = errors.New("another kind is served instead")

// awaitNeeded waits until it is known whether the kind is wanted here.
func (s *session) awaitNeeded(ctx context.Context, k WatchedKind) error {
	if k.FallbackFor.Empty() {
		return nil
	}
	for {
		switch other := s.informerFor(k.FallbackFor); {
		case other.err != nil:
			return nil //nolint:nilerr // the other kind is not to be had, so this one is needed
		case other.informer != nil && other.informer.HasSynced():
			if s.isSuperseded(k) {
				return errSuperseded
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", k.FallbackFor.Kind, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// isSuperseded reports whether the other kind makes this one needless: it is served and, if its objects have to be renewed, there
// is one that was.
func (s *session) isSuperseded(k WatchedKind) bool {
	other := s.informerFor(k.FallbackFor)
	switch {
	case other.informer == nil || !other.informer.HasSynced():
		return false
	case other.kind.RenewalTimeout <= 0:
		return true
	}
	for _, item := range other.informer.GetStore().List() {
		if obj := asObject(item); obj != nil && s.supervisor.renewals.isFresh(other.kind, obj, s.options.Clock.Now()) {
			return true
		}
	}
	return false
}

// stopWhenSuperseded ends the informer of a kind once another makes it needless.
func (s *session) stopWhenSuperseded(running context.Context, end context.CancelCauseFunc, k WatchedKind) {
	for {
		select {
		case <-running.Done():
			return
		case <-s.options.Clock.After(s.options.KindRecheckInterval):
		}
		if s.isSuperseded(k) {
			end(errSuperseded)
			return
		}
	}
}
