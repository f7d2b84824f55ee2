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

// renewals remember when objects of a cluster that have to be renewed were seen to change last, by our own clock. They
// outlive sessions: what nobody renews does not begin anew with a connection.
type renewals struct {
	mu   sync.Mutex
	last map[renewed]renewal
}

type renewed struct {
	gvk schema.GroupVersionKind
	key types.NamespacedName
}

type renewal struct {
	version string
	at      time.Time
}

// note remembers a version that was seen now; one seen before is no renewal.
func (r *renewals) note(gvk schema.GroupVersionKind, obj client.Object, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := renewed{gvk, client.ObjectKeyFromObject(obj)}
	if r.last[of].version == obj.GetResourceVersion() {
		return
	}
	if r.last == nil {
		r.last = map[renewed]renewal{}
	}
	r.last[of] = renewal{obj.GetResourceVersion(), now}
}

// drop forgets an object that is gone.
func (r *renewals) drop(gvk schema.GroupVersionKind, obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, renewed{gvk, client.ObjectKeyFromObject(obj)})
}

// counts reports whether the object was renewed in time. One that was not noted yet has just changed.
func (r *renewals) counts(k Kind, obj client.Object, now time.Time) bool {
	if k.Renewed <= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[renewed{k.GVK, client.ObjectKeyFromObject(obj)}]
	return last.version != obj.GetResourceVersion() || now.Before(last.at.Add(k.Renewed))
}

// Current is Get for an object that has to be renewed (Kind.Renewed): nil also if nobody has for too long, and if it is not
// known what there is.
func (f *Fleet) Current(cluster string, gvk schema.GroupVersionKind, key types.NamespacedName) client.Object {
	s := f.lookup(cluster)
	if s == nil {
		return nil
	}
	obj, _ := s.get(gvk, storeKey(key))
	if obj == nil || !s.renewals.counts(s.follows(gvk).kind, obj, s.options.Clock.Now()) {
		return nil
	}
	return obj
}

// errNeedless says that another kind is served which makes this one needless.
var errNeedless = errors.New("another kind is served instead")

// needed waits until it is known whether the kind is wanted here.
func (s *session) needed(ctx context.Context, k Kind) error {
	if k.Unless.Empty() {
		return nil
	}
	for {
		switch other := s.get(k.Unless); {
		case other.err != nil:
			return nil //nolint:nilerr // the other kind is not to be had, so this one is needed
		case other.informer != nil && other.informer.HasSynced():
			if s.replaced(k) {
				return errNeedless
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", k.Unless.Kind, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// replaced reports whether the other kind makes this one needless: it is served and, if its objects have to be renewed, there
// is one that was.
func (s *session) replaced(k Kind) bool {
	other := s.get(k.Unless)
	switch {
	case other.informer == nil || !other.informer.HasSynced():
		return false
	case other.kind.Renewed <= 0:
		return true
	}
	for _, item := range other.informer.GetStore().List() {
		if obj := object(item); obj != nil && s.owner.renewals.counts(other.kind, obj, s.options.Clock.Now()) {
			return true
		}
	}
	return false
}

// standIn ends the informer of a kind once another makes it needless.
func (s *session) standIn(running context.Context, end context.CancelCauseFunc, k Kind) {
	for {
		select {
		case <-running.Done():
			return
		case <-s.options.Clock.After(s.options.RecheckKinds):
		}
		if s.replaced(k) {
			end(errNeedless)
			return
		}
	}
}
