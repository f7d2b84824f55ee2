package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/wire"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/jsonweight"
)

// errReplaced ends a connection whose credentials were replaced or withdrawn.
var errReplaced = errors.New("the credentials have changed")

// supervisor owns one cluster: one goroutine that connects, serves and reconnects until it is stopped.
type supervisor struct {
	name      string
	options   Options
	lanes     *lanes
	memory    *memory
	places    *places
	left      bool // it was removed; under the lock of places
	lease     *lease
	stats     *stats
	weights   jsonweight.Weights
	rate      *wire.Rate
	renewals  renewals
	workloads *Signal
	clusters  *Signal
	entrance  entrance
	orphans   *orphans

	renew chan struct{} // capacity 1: the credentials have changed
	stop  context.CancelFunc

	mu          sync.RWMutex
	credentials *Credentials // nil while there are none that can be used
	state       State
	session     *session // the last one that connected; its caches stay readable after it ended
	began       time.Time
	brief       int // how many sessions in a row did not hold; began is when the last one did
}

func newSupervisor(name string, f *Fleet) *supervisor {
	s := &supervisor{
		name: name, options: f.options, lanes: newLanes(), memory: newMemory(), lease: newLease(f.options.Clock.Now(), f.options.Lease),
		stats: &stats{}, weights: f.weights, rate: f.rates.Cluster(),
		workloads: &f.workloads, clusters: &f.clusters, entrance: f.entrance,
		renew: make(chan struct{}, 1),
		state: State{Cluster: name, LostSince: f.options.Clock.Now()},
	}
	s.orphans = newOrphans(f.options.Clock, f.workloads.Later)
	s.places, s.stats.unanswered = f.places, s.doubt
	s.lanes.noted = func(key types.NamespacedName, there bool) {
		f.places.note(place{inLanes, storeKey(key)}, finding{on: s}, there)
	}
	s.memory.noted = func(key types.NamespacedName, there bool) {
		f.places.note(place{inMemory, storeKey(key)}, finding{on: s}, there)
	}
	return s
}

// use hands over credentials; nil withdraws them for the given reason. Equal ones change nothing.
func (s *supervisor) use(c *Credentials, reason error) {
	s.mu.Lock()
	same := c != nil && s.credentials != nil && c.Fingerprint == s.credentials.Fingerprint
	if !same {
		s.credentials = c
		s.state.Failures, s.brief = 0, 0
		s.state.NextAttempt = time.Time{}
	}
	unusable := c == nil && s.state.Err == nil && !s.state.Connected // nobody was told before that it cannot be reached
	if c == nil {
		s.state.Err = reason
	}
	if !same {
		s.again() // with the lock held, as whoever reads them takes it back
	}
	s.mu.Unlock()
	if unusable {
		s.announce()
	}
}

// run connects again and again until ctx ends.
func (s *supervisor) run(ctx context.Context) {
	for {
		credentials, ok := s.due(ctx)
		if !ok {
			return
		}
		session, err := s.connect(ctx, credentials)
		if err != nil {
			s.failed(credentials, presentable(err))
			continue
		}
		s.connected(credentials, session)
		err = s.serve(ctx, session)
		session.end()
		s.lost(presentable(err))
	}
}

// due waits until there are credentials and the backoff is over. False means that ctx has ended.
func (s *supervisor) due(ctx context.Context) (Credentials, bool) {
	for ctx.Err() == nil {
		s.mu.RLock()
		select { // what changes from here on ends the attempt that follows
		case <-s.renew:
		default:
		}
		credentials, next := s.credentials, s.state.NextAttempt
		s.mu.RUnlock()
		var timer <-chan time.Time
		if wait := next.Sub(s.options.Clock.Now()); wait > 0 {
			timer = s.options.Clock.After(wait)
		} else if credentials != nil {
			return *credentials, true
		}
		select {
		case <-ctx.Done():
		case <-s.renew:
		case <-timer:
		}
	}
	return Credentials{}, false
}

// connect opens a session and returns it once it is complete. Credentials that change meanwhile end the attempt.
func (s *supervisor) connect(ctx context.Context, credentials Credentials) (*session, error) {
	exceeded := make(chan error, 1)
	link := wire.NewLink(s.weights, s.rate, func(err error) { report(exceeded, err) })
	config, disconnect, err := wire.Bounded(credentials.Config, link)
	if err != nil {
		return nil, err
	}
	c, err := s.options.Dial(s.stats.counting(config))
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	session, start, err := s.open(ctx, c)
	if err != nil {
		return nil, err
	}
	session.exceeded, session.disconnect = exceeded, disconnect
	if err := s.establish(ctx, session, start); err != nil {
		session.end()
		session.retire()
		return nil, err
	}
	return session, nil
}

// establish returns when the cluster answers and its informers are complete. Nobody waits at the entrance for a cluster that
// does not answer.
func (s *supervisor) establish(ctx context.Context, opened *session, start func()) error {
	for _, ask := range []func(context.Context) error{opened.probe, opened.identify} {
		if err := s.attempt(ctx, opened, ask); err != nil {
			return err
		}
	}
	leave, err := s.entrance.enter(ctx, s.renew, s.options.Clock)
	if err != nil {
		s.again()
		return err
	}
	defer leave()
	start()
	return s.attempt(ctx, opened, opened.awaitKinds)
}

// attempt does a part of a connection attempt, with patience. Credentials that change meanwhile end it.
func (s *supervisor) attempt(ctx context.Context, opened *session, do func(context.Context) error) error {
	patience, cancel := context.WithTimeout(ctx, EstablishTimeout(s.State().Failures))
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- do(patience) }()
	select {
	case err := <-result:
		return err
	case err := <-opened.exceeded:
		return err
	case <-s.renew:
		s.again()
		return errReplaced
	case <-patience.Done():
		return fmt.Errorf("connect: %w", context.Cause(patience))
	}
}

// doubt has the present connection probed at once: a watch that is refused keeps trying for long before it tells anybody.
func (s *supervisor) doubt() {
	if session := s.present(); session != nil {
		session.doubt()
	}
}

// again keeps a renewal for due, which is where it is acted upon.
func (s *supervisor) again() {
	select {
	case s.renew <- struct{}{}:
	default:
	}
}

// open makes a session, and what opens its informers and writers.
func (s *supervisor) open(ctx context.Context, c client.WithWatch) (opened *session, start func(), err error) {
	selector, err := labels.ValidatedSelectorFromSet(labels.Set{kueue.MultiKueueOriginLabel: s.options.Origin})
	if err != nil {
		return nil, nil, fmt.Errorf("select by origin: %w", err)
	}
	s.lanes.reset()
	ctx, stop := context.WithCancel(ctx)
	opened = &session{
		options: s.options, selector: selector, client: c, lanes: s.lanes, memory: s.memory,
		work: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.NamespacedName]{
			Clock: s.options.Clock,
		}),
		suspect: make(chan struct{}, 1), stop: stop, name: s.name, lease: s.lease, announce: s.announce, stats: s.stats,
		places: s.places, owner: s, listing: make(chan struct{}, listsAtOnce),
		kinds: map[schema.GroupVersionKind]*followed{},
	}
	return opened, func() { opened.start(ctx) }, nil
}

// serve watches over a connection and returns why it ended.
func (s *supervisor) serve(ctx context.Context, session *session) error {
	ticker := s.options.Clock.NewTicker(s.options.ProbeEvery)
	defer ticker.Stop()
	if s.options.Lease != nil {
		leasing, stop := context.WithCancel(ctx)
		defer stop()
		session.done.Go(func() { session.keepLease(leasing) })
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.renew:
			s.again()
			return errReplaced
		case err := <-session.exceeded:
			return err
		case <-session.suspect:
		case <-ticker.C():
		}
		if err := session.probeTwice(ctx); err != nil {
			return err
		}
		s.refresh(session)
	}
}

// connected makes a complete session the one that the hub sees. What vanished since the last one is remembered before:
// whoever misses it shall find out how it ended.
func (s *supervisor) connected(credentials Credentials, session *session) {
	before := s.present()
	s.remember(before, session)
	s.mu.Lock()
	s.session, s.began = session, s.options.Clock.Now()
	s.state = State{
		Cluster: s.name, Connected: true, Met: true, Connection: s.stats.connections.Add(1), Fingerprint: credentials.Fingerprint, Unserved: session.unserved(),
		Ours: session.ours, Identity: session.identity, Unidentified: text(session.unidentified),
	}
	s.mu.Unlock()
	if before != nil {
		before.retire()
	}
	look := s.lookNow
	if before == nil {
		look = s.lookLater // the program has just started, or the cluster is new: what is there has time
	}
	s.announceTo(look)
	for _, key := range session.workloads() { // their events came before the hub could act on them
		look(key)
	}
}

func (s *supervisor) lookNow(key types.NamespacedName) { s.look(key, 0) }

// remember keeps what vanished between two sessions.
func (s *supervisor) remember(before, now *session) {
	if before == nil {
		return
	}
	for _, k := range s.options.Kinds {
		was, is := before.get(k.GVK), now.get(k.GVK)
		if was.informer == nil || is.informer == nil || !is.informer.HasSynced() {
			continue
		}
		for _, last := range was.all() {
			if is.find(storeKey(client.ObjectKeyFromObject(last))) != nil {
				continue
			}
			key, ok := k.Key(last)
			if known, have := s.memory.get(key, k.GVK); ok && s.options.Owned(key) && (!have || known.Last.GetUID() != last.GetUID()) {
				s.memory.add(key, k.GVK, Gone{Last: last})
			}
		}
	}
}

// refresh tells the hub when a cluster has begun or ceased to serve a kind.
func (s *supervisor) refresh(session *session) {
	unserved := session.unserved()
	s.mu.Lock()
	same := slices.EqualFunc(s.state.Unserved, unserved, func(a, b Unserved) bool {
		return a.GVK == b.GVK && text(a.Err) == text(b.Err)
	})
	s.state.Unserved = unserved
	s.mu.Unlock()
	if !same {
		s.announce()
	}
}

func (s *supervisor) failed(credentials Credentials, err error) {
	s.mu.Lock()
	if s.credentials != nil && s.credentials.Fingerprint == credentials.Fingerprint {
		s.state.Failures++
		s.state.NextAttempt = s.options.Clock.Now().Add(s.options.Backoff(s.state.Failures + max(s.brief-1, 0)))
		s.state.Err = err
		s.state.Fingerprint = credentials.Fingerprint
	}
	first := s.state.Failures == 1
	s.mu.Unlock()
	s.clusters.Send(types.NamespacedName{Name: s.name}, 0)
	if first {
		s.announce()
	}
}

// lost ends what a session was good for. A connection that breaks is made again at once, unless the one before did not hold either:
// each costs a list of everything.
func (s *supervisor) lost(err error) {
	now := s.options.Clock.Now()
	s.mu.Lock()
	s.state.Connected = false
	s.state.LostSince = now
	if s.state.Err == nil {
		s.state.Err = err
	}
	switch {
	case errors.Is(err, wire.ErrExceeded): // there is no use in trying again at once
		s.brief = max(s.brief, 1) + 1
	case errors.Is(err, errReplaced), !now.Before(s.began.Add(s.options.Steady)):
		s.brief = 0
	default:
		s.brief++
	}
	if s.brief > 1 {
		s.state.NextAttempt = now.Add(s.options.Backoff(s.brief - 1))
	}
	s.mu.Unlock()
	s.lanes.reset()
	s.orphans.clear() // they are found again
	s.announce()
}

// announce makes the hub look at the cluster and at every Workload that depends on it.
func (s *supervisor) announce() { s.announceTo(s.lookNow) }

// announceTo is announce with a way to look at those that look for no cluster: as a rule those who do are few, and somebody waits.
func (s *supervisor) announceTo(look func(types.NamespacedName)) {
	s.clusters.Send(types.NamespacedName{Name: s.name}, 0)
	seekers, others := s.options.Concerned(s.name)
	for _, key := range seekers {
		s.workloads.Send(key, 0)
	}
	for _, key := range others {
		look(key)
	}
}

// State returns a copy of the connection's state.
func (s *supervisor) State() State {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.state
	state.Fencing = s.lease.fencing()
	if state.Connected {
		state.Degraded, state.OnTrial = s.session.degraded(s.options.Clock.Now())
	}
	return state
}

func (s *supervisor) do(key types.NamespacedName, actions []Action) {
	s.mu.RLock()
	connected, session := s.state.Connected, s.session
	s.mu.RUnlock()
	if connected && s.lanes.plan(key, actions) {
		session.work.Add(key)
	}
}

func (s *supervisor) follows(gvk schema.GroupVersionKind) *followed {
	session := s.present()
	if session == nil {
		return &followed{}
	}
	return session.get(gvk)
}

// present is the session that the hub sees, nil before the first.
func (s *supervisor) present() *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.session
}

// get returns an object as it was last seen, nil if none was; false while the kind is not served, or not known yet.
func (s *supervisor) get(gvk schema.GroupVersionKind, key string) (client.Object, bool) {
	kind := s.follows(gvk)
	if kind.informer == nil || !kind.informer.HasSynced() {
		return nil, false
	}
	return kind.find(key), true
}
