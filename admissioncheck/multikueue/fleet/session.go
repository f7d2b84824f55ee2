package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// session is one connection: a client, the informers fed by it and the writers that use it. It ends as a whole.
type session struct {
	name     string
	options  Options
	selector labels.Selector
	client   client.WithWatch
	lanes    *lanes
	breaker  breaker
	pulse    pulse
	stats    *stats
	memory   *memory
	places   *places
	owner    *supervisor
	work     workqueue.TypedDelayingInterface[types.NamespacedName]
	announce func()                // makes the hub look at the cluster and at what depends on it
	suspect  chan struct{}         // somebody had trouble: probe now
	exceeded chan error            // capacity 1: the cluster's answers went beyond a bound
	listing  chan struct{}         // slots for lists
	holdings holdings              // what is kept of the cluster
	lease    *lease                // what is known of the run lease and of the fence
	renewed  *coordinationv1.Lease // the run lease as it was written last over this connection; of keepLease alone

	identity     types.UID // of the cluster; read once, before anything is followed
	unidentified error     // why it is not known
	ours         bool      // whether our program is installed there

	stop       context.CancelFunc
	disconnect func() // ends the connections that nobody uses any more; nil if there are none
	done       sync.WaitGroup

	mu    sync.RWMutex
	kinds map[schema.GroupVersionKind]*followed
}

// followed is one kind of one session: its informer, or why there is none.
type followed struct {
	kind     Kind
	informer cache.SharedIndexInformer // nil until the kind is known to be served
	shown    *shown                    // set with the informer
	toldAll  func() bool               // whether the hub was told of all that the first list had; set with the informer
	err      error                     // why it is not served, nil if unknown or served
}

// start opens all informers and writers.
func (s *session) start(ctx context.Context) {
	for _, k := range s.options.Kinds {
		s.done.Go(func() { s.follow(ctx, k) })
	}
	for range s.options.Writers {
		s.done.Go(func() { s.write(ctx) })
	}
}

// end stops everything and waits for it: no call of this session begins afterwards.
func (s *session) end() {
	s.stop()
	s.work.ShutDown()
	s.done.Wait()
	if s.disconnect != nil {
		s.disconnect()
	}
}

// retire forgets where its objects were: it has ended, and the hub sees another.
func (s *session) retire() {
	for _, k := range s.options.Kinds {
		if f := s.get(k.GVK); f.shown != nil {
			f.shown.retire()
		}
	}
}

// errAway says that an API server was away while it was probed. Even if it answers again nothing that was seen of it before counts:
// it may have been put back to a backup, and no watch that goes on from what was seen last would tell what is no more.
var errAway = errors.New("the API server was away for a moment")

// probeTwice probes, once more if that fails. A server that drops requests meanwhile, watches that go on among them, was away, whether
// or not the probe that is repeated underneath gets its answer in time.
func (s *session) probeTwice(ctx context.Context) (err error) {
	for range 2 {
		before := s.stats.dropped.Load()
		err = s.probe(ctx)
		switch {
		case s.stats.dropped.Load() != before:
			return cmp.Or(err, errAway)
		case err == nil:
			return nil
		}
	}
	return err
}

// unserved lists the kinds that are known not to be served.
func (s *session) unserved() []Unserved {
	var list []Unserved
	for _, k := range s.options.Kinds {
		if f := s.get(k.GVK); f.err != nil && !k.Everything {
			list = append(list, Unserved{GVK: k.GVK, Err: f.err})
		}
	}
	slices.SortFunc(list, func(a, b Unserved) int { return strings.Compare(a.GVK.String(), b.GVK.String()) })
	return list
}

// workloads lists the Workloads of which something is seen.
func (s *session) workloads() []types.NamespacedName {
	var keys []types.NamespacedName
	for _, k := range s.options.Kinds {
		f := s.get(k.GVK)
		if f.informer == nil {
			continue
		}
		h := &handler{session: s, kind: k}
		for _, item := range f.informer.GetStore().List() {
			keys = append(keys, h.concerned(object(item))...)
		}
	}
	return keys
}

// follow keeps an informer for the kind until ctx ends. A kind that is not served, or not to us, is asked for again now
// and then, and costs the other kinds nothing.
func (s *session) follow(ctx context.Context, k Kind) {
	for ctx.Err() == nil {
		err := s.runInformer(ctx, k)
		if ctx.Err() != nil {
			return
		}
		s.set(k.GVK, &followed{kind: k, err: presentable(err)})
		select {
		case <-ctx.Done():
		case <-s.options.Clock.After(s.options.RecheckKinds):
		}
	}
}

// runInformer returns when ctx ends or the kind turns out not to be served to us.
func (s *session) runInformer(ctx context.Context, k Kind) error {
	if err := s.needed(ctx, k); err != nil {
		return err
	}
	if _, err := s.client.RESTMapper().RESTMapping(k.GVK.GroupKind(), k.GVK.Version); err != nil {
		return fmt.Errorf("look for %s: %w", k.GVK.Kind, err)
	}
	selector := s.selector
	if k.Everything {
		selector = labels.Everything()
	}
	informer, err := newInformer(lister{client: s.client, kind: k, selector: selector, slots: s.listing, bound: s.bound})
	if err != nil {
		return fmt.Errorf("follow %s: %w", k.GVK.Kind, err)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	told := s.newShown(k)
	registration, err := informer.AddEventHandler(&handler{session: s, kind: k, shown: told})
	if err != nil {
		return fmt.Errorf("follow %s: %w", k.GVK.Kind, err)
	}
	err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if notServed(err) {
			cancel(fmt.Errorf("list %s: %w", k.GVK.Kind, err))
			return
		}
		s.doubt()
	})
	if err != nil {
		return fmt.Errorf("follow %s: %w", k.GVK.Kind, err)
	}
	s.set(k.GVK, &followed{kind: k, informer: informer, shown: told, toldAll: registration.HasSynced})
	if !k.Unless.Empty() {
		s.done.Go(func() { s.standIn(running, cancel, k) })
	}
	informer.RunWithContext(running)
	if ctx.Err() == nil {
		told.retire() // not served any more; at the end of a session what was seen stays readable
	}
	return context.Cause(running)
}

func notServed(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err)
}

func (s *session) set(gvk schema.GroupVersionKind, f *followed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds[gvk] = f
}

// get never returns nil, and what it returns is never changed.
func (s *session) get(gvk schema.GroupVersionKind) *followed {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if f := s.kinds[gvk]; f != nil {
		return f
	}
	return &followed{}
}

// doubt asks for a probe at once. It never blocks.
func (s *session) doubt() {
	select {
	case s.suspect <- struct{}{}:
	default:
	}
}

// exceed ends the session because the cluster's answers went beyond a bound. It never blocks.
func (s *session) exceed(err error) { report(s.exceeded, err) }

// report sends the first of several errors. It never blocks.
func report(to chan<- error, err error) {
	select {
	case to <- err:
	default:
	}
}

// probeLabel is on no object.
const probeLabel = "switchyard.dev/probe"

// probe lists, out of the server's own cache, the objects of the first required kind that bear a label which none has: it
// costs next to nothing and proves network, credentials, permission and schema at once. A limit instead of the label would
// be ignored by that cache.
func (s *session) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ProbeTimeout)
	defer cancel()
	_, answered := s.pulse.ask(s.options.Clock.Now())
	defer func() { answered(s.options.Clock.Now()) }()
	none, err := labels.NewRequirement(probeLabel, selection.Exists, nil)
	if err != nil {
		return fmt.Errorf("select nothing: %w", err)
	}
	for _, k := range s.options.Kinds {
		if k.Required {
			return s.client.List(ctx, k.NewList(), &client.ListOptions{
				LabelSelector: s.selector.Add(*none), Raw: &metav1.ListOptions{ResourceVersion: "0"},
			})
		}
	}
	return errors.New("no kind is required")
}

// awaitKinds waits until it is known of every kind what there is, or that the cluster does not serve it. A required kind
// that is not served is an error.
func (s *session) awaitKinds(ctx context.Context) error {
	for {
		known, err := s.known()
		if err != nil || known {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the list of objects: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *session) known() (bool, error) {
	all := true
	for _, k := range s.options.Kinds {
		f := s.get(k.GVK)
		if f.err != nil && k.Required {
			return false, f.err
		}
		all = all && (f.err != nil || f.informer != nil && f.toldAll())
	}
	return all, nil
}

// write runs the actions of the lanes until the session ends.
func (s *session) write(ctx context.Context) {
	for {
		key, shutdown := s.work.Get()
		if shutdown {
			return
		}
		s.runLane(ctx, key)
		s.work.Done(key)
	}
}

func (s *session) runLane(ctx context.Context, key types.NamespacedName) {
	for ctx.Err() == nil {
		if wait := s.breaker.wait(s.options.Clock.Now(), s.options.CallTimeout, s.lanes.idle(key)); wait > 0 {
			s.work.AddAfter(key, wait)
			if s.lanes.held(key) {
				s.owner.look(key, 0) // it may be better off elsewhere
			}
			return
		}
		r, wait := s.lanes.next(key, s.options.Clock.Now())
		if wait > 0 {
			s.work.AddAfter(key, wait)
		}
		if !r.ok {
			return
		}
		s.runAction(ctx, key, r)
	}
}

func (s *session) runAction(ctx context.Context, key types.NamespacedName, r run) {
	call, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	limit, answered := s.pulse.ask(s.options.Clock.Now())
	overdue := s.options.Clock.AfterFunc(limit, func() { s.doubt(); s.owner.look(key, 0) })
	value, err := r.action.Run(call, s.client)
	err = presentable(err)
	overdue.Stop()
	answered(s.options.Clock.Now())
	if ctx.Err() != nil {
		return
	}
	now := s.options.Clock.Now()
	if pause, changed := s.breaker.done(err, now); changed {
		s.tellBreak(ctx, err, pause)
		s.readmit(ctx, now, pause)
	}
	news := s.lanes.done(key, r, value, err, now)
	if unreachable(err) {
		s.doubt()
	}
	if news {
		s.owner.look(key, 0)
	}
}

// tellBreak logs why nothing is tried any more, once, and that it is tried again.
func (s *session) tellBreak(ctx context.Context, err error, pause time.Duration) {
	logger := log.FromContext(ctx).WithValues("cluster", s.name)
	if pause == 0 {
		logger.Info("A cluster does what it is asked again")
		return
	}
	if pause == firstPause {
		logger.Error(err, "Calls to a cluster fail one after the other")
	}
}

// readmit makes those who look for a cluster look again when this one may be tried again, unless it was by then: they have passed
// it over.
func (s *session) readmit(ctx context.Context, now time.Time, pause time.Duration) {
	look := func() {
		seekers, _ := s.options.Concerned(s.name)
		for _, key := range seekers {
			s.owner.workloads.Send(key, 0)
		}
	}
	if pause == 0 {
		look()
		return
	}
	s.options.Clock.AfterFunc(pause, func() {
		if ctx.Err() == nil && s.breaker.paused(now.Add(pause)) {
			look()
		}
	})
}

// failing is said of a cluster whose breaker is open.
const failing = "calls to it fail one after the other"

// degraded says why the cluster may not do what is asked of it, though it is connected, empty if there is no sign of that; and
// whether it is to be tried all the same.
func (s *session) degraded(now time.Time) (why string, onTrial bool) {
	open, trial := s.breaker.open(now)
	switch overdue := s.pulse.overdue(now); {
	case open:
		return failing, trial && !overdue // whose calls, and why, is nobody else's business
	case overdue:
		return "its answers are overdue", false
	}
	return "", false
}

// unreachable tells an error of the connection from an answer of the server, and from that of a client that has found no such
// kind there.
func unreachable(err error) bool {
	if err == nil || meta.IsNoMatchError(err) {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status)
}
