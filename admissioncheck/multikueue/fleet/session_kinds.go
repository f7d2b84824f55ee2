package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// kindInformer is one kind of one session: its informer, or why there is none.
type kindInformer struct {
	kind            WatchedKind
	informer        cache.SharedIndexInformer // nil until the kind is known to be served
	delivered       *deliveredObjects         // set with the informer
	hasDeliveredAll func() bool               // whether the hub was told of all that the first list had; set with the informer
	err             error                     // why it is not served, nil if unknown or served
}

// isKnown tells whether all objects of the kind are seen, or that it is not served.
func (f *kindInformer) isKnown() bool {
	return f.err != nil || f.informer != nil && f.hasDeliveredAll()
}

// unserved lists the kinds that are known not to be served.
func (s *session) unserved() []Unserved {
	var list []Unserved
	for _, k := range s.options.kinds.list() {
		if f := s.informerFor(k.GVK); f.err != nil && !k.AllOrigins {
			list = append(list, Unserved{GVK: k.GVK, Err: f.err})
		}
	}
	slices.SortFunc(list, func(a, b Unserved) int { return strings.Compare(a.GVK.String(), b.GVK.String()) })
	return list
}

// watchKind keeps an informer for the kind until ctx ends. A kind that is not served, or not to us, is asked for again now
// and then, and costs the other kinds nothing.
func (s *session) watchKind(ctx context.Context, k WatchedKind) {
	for ctx.Err() == nil {
		err := s.runInformer(ctx, k)
		if ctx.Err() != nil {
			return
		}
		s.setInformer(k.GVK, &kindInformer{kind: k, err: sanitizeError(err)})
		s.announceKind(k)
		select {
		case <-ctx.Done():
		case <-s.options.Clock.After(s.options.KindRecheckInterval):
		}
	}
}

// followedKind is a kind that has an informer, or waits for one, until it is told to stop.
type followedKind struct {
	kind WatchedKind
	stop func()
}

// followKinds keeps an informer for each kind that is followed, until ctx ends. Of a kind that is removed nothing stays.
func (s *session) followKinds(ctx context.Context) {
	followed := map[schema.GroupVersionKind]followedKind{}
	for ctx.Err() == nil {
		kinds, changed := s.options.kinds.watch()
		for gvk, was := range followed {
			if !slices.ContainsFunc(kinds, was.kind.isSame) {
				was.stop()
				delete(followed, gvk)
			}
		}
		for _, k := range kinds {
			if _, found := followed[k.GVK]; !found {
				followed[k.GVK] = followedKind{k, s.followKind(ctx, k)}
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// followKind keeps an informer for a kind until ctx ends or it is told to stop, which returns when nothing of the kind is left.
func (s *session) followKind(ctx context.Context, k WatchedKind) (stop func()) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	s.running.Go(func() {
		defer close(ended)
		s.watchKind(running, k)
	})
	return func() {
		cancel()
		<-ended
		s.forgetKind(k.GVK)
	}
}

// forgetKind forgets what was seen of a kind whose informer has ended.
func (s *session) forgetKind(gvk schema.GroupVersionKind) {
	s.mu.Lock()
	was := s.kinds[gvk]
	delete(s.kinds, gvk)
	s.mu.Unlock()
	if was != nil && was.delivered != nil {
		was.delivered.drop()
	}
	if s.supervisor.currentSession() == s {
		s.supervisor.updateUnserved(s)
	}
}

// announceKind tells the hub that it has become known what there is of a kind, if it was added: of the others that is known before the
// session is connected. Only what depends on the kind is looked at.
func (s *session) announceKind(k WatchedKind) {
	if k.addition == 0 || s.supervisor.currentSession() != s {
		return
	}
	s.supervisor.updateUnserved(s)
	if k.OnKnown != nil {
		k.OnKnown()
	}
}

// runInformer returns when ctx ends or the kind turns out not to be served to us.
func (s *session) runInformer(ctx context.Context, k WatchedKind) error {
	if err := s.awaitNeeded(ctx, k); err != nil {
		return err
	}
	mapping, err := s.client.RESTMapper().RESTMapping(k.GVK.GroupKind(), k.GVK.Version)
	if err != nil {
		return fmt.Errorf("look for %s: %w", k.GVK.Kind, err)
	}
	if k.addition > 0 && mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return fmt.Errorf("%s is not namespaced", k.GVK.Kind)
	}
	selector := s.selector
	if k.AllOrigins {
		selector = labels.Everything()
	}
	informer, err := newInformer(lister{client: s.client, kind: k, selector: selector, slots: s.listSlots, checkMemoryLimit: s.checkMemoryLimit})
	if err != nil {
		return fmt.Errorf("follow %s: %w", k.GVK.Kind, err)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	told := s.newDeliveredObjects(k)
	registration, err := informer.AddEventHandler(&eventHandler{session: s, kind: k, delivered: told})
	if err != nil {
		return fmt.Errorf("follow %s: %w", k.GVK.Kind, err)
	}
	err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if isNotServed(err) {
			cancel(fmt.Errorf("list %s: %w", k.GVK.Kind, err))
			return
		}
		s.requestProbe()
	})
	if err != nil {
		return fmt.Errorf("follow %s: %w", k.GVK.Kind, err)
	}
	s.setInformer(k.GVK, &kindInformer{kind: k, informer: informer, delivered: told, hasDeliveredAll: registration.HasSynced})
	if k.addition > 0 {
		s.running.Go(func() {
			if cache.WaitForCacheSync(running.Done(), registration.HasSynced) {
				s.announceKind(k)
			}
		})
	}
	if !k.FallbackFor.Empty() {
		s.running.Go(func() { s.stopWhenSuperseded(running, cancel, k) })
	}
	informer.RunWithContext(running)
	if ctx.Err() == nil {
		told.removeFromIndex() // not served any more; at the end of a session what was seen stays readable
	}
	return context.Cause(running)
}

func isNotServed(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err)
}

func (s *session) setInformer(gvk schema.GroupVersionKind, f *kindInformer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds[gvk] = f
}

// informerFor never returns nil, and what it returns is never changed.
func (s *session) informerFor(gvk schema.GroupVersionKind) *kindInformer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if f := s.kinds[gvk]; f != nil {
		return f
	}
	return &kindInformer{}
}

// awaitKinds waits until it is known of every kind what there is, or that the cluster does not serve it. A required kind
// that is not served is an error. Kinds that were added are waited for no longer than for a probe: one that cannot be listed, for an
// in-house API may be out of order, must not keep the others from the cluster (see Fleet.KnowsKind).
func (s *session) awaitKinds(ctx context.Context) error {
	var since time.Time // when all others were known
	for {
		missing, err := s.missingKinds()
		if err != nil || len(missing) == 0 {
			return err
		}
		now := s.options.Clock.Now()
		othersMissing := slices.ContainsFunc(missing, func(k WatchedKind) bool { return k.addition == 0 })
		if othersMissing || since.IsZero() {
			since = now
		}
		if now.Sub(since) >= s.options.ProbeTimeout {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the list of objects: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// missingKinds lists the kinds of which it is not known yet what there is. An error is one of a required kind.
func (s *session) missingKinds() (missing []WatchedKind, err error) {
	for _, k := range s.options.kinds.list() {
		f := s.informerFor(k.GVK)
		if f.err != nil && k.Required {
			return nil, f.err
		}
		if !f.isKnown() {
			missing = append(missing, k)
		}
	}
	return missing, nil
}
