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

// errCredentialsChanged ends a connection whose credentials were replaced or withdrawn.
var errCredentialsChanged = errors.New("the credentials have changed")

// supervisor owns one cluster: one goroutine that connects, serves and reconnects until it is stopped.
type supervisor struct {
	name             string
	options          Options
	actionQueues     *actionQueues
	deletedObjects   *deletedObjects
	index            *clusterIndex
	removed          bool // it was removed; under the lock of places
	lease            *leaseTracker
	stats            *callStats
	weights          jsonweight.Weights
	rate             *wire.Rate
	renewals         renewalTracker
	workloadRequests *RequestSource
	clusterRequests  *RequestSource
	listLimiter      listLimiter
	orphans          *orphanQueue

	credentialsChanged chan struct{} // capacity 1: the credentials have changed
	stop               context.CancelFunc

	mu            sync.RWMutex
	credentials   *Credentials // nil while there are none that can be used
	state         State
	session       *session // the last one that connected; its caches stay readable after it ended
	sessionStart  time.Time
	shortSessions int // how many sessions in a row did not hold; began is when the last one did
}

// newSupervisor returns the supervisor of a cluster without credentials. It connects once it runs and has some.
func newSupervisor(name string, f *Fleet) *supervisor {
	s := &supervisor{
		name: name, options: f.options, actionQueues: newActionQueues(), deletedObjects: newDeletedObjects(), lease: newLeaseTracker(f.options.Clock.Now(), f.options.Lease),
		stats: &callStats{}, weights: f.weights, rate: f.rates.Cluster(),
		workloadRequests: &f.workloadRequests, clusterRequests: &f.clusterRequests, listLimiter: f.listLimiter,
		credentialsChanged: make(chan struct{}, 1),
		state:              State{Cluster: name, LostSince: f.options.Clock.Now()},
	}
	s.orphans = newOrphanQueue(f.options.Clock, f.workloadRequests.EnqueueLowPriority)
	s.index, s.stats.onUnanswered = f.index, s.requestProbe
	s.actionQueues.onChange = func(key types.NamespacedName, there bool) {
		f.index.update(indexKey{actionQueueKind, storeKey(key)}, indexEntry{supervisor: s}, there)
	}
	s.deletedObjects.onChange = func(key types.NamespacedName, there bool) {
		f.index.update(indexKey{deletedObjectKind, storeKey(key)}, indexEntry{supervisor: s}, there)
	}
	return s
}

// setCredentials hands over credentials; nil withdraws them for the given reason. Equal ones change nothing.
func (s *supervisor) setCredentials(c *Credentials, reason error) {
	s.mu.Lock()
	same := c != nil && s.credentials != nil && c.Fingerprint == s.credentials.Fingerprint
	if !same {
		s.credentials = c
		s.state.Failures, s.shortSessions = 0, 0
		s.state.NextAttempt = time.Time{}
	}
	unusable := c == nil && s.state.Err == nil && !s.state.Connected // nobody was told before that it cannot be reached
	if c == nil {
		s.state.Err = reason
	}
	if !same {
		s.signalCredentialsChanged() // with the lock held, as whoever reads them takes it back
	}
	s.mu.Unlock()
	if unusable {
		s.requeueAffected()
	}
}

// run connects again and again until ctx ends.
func (s *supervisor) run(ctx context.Context) {
	for {
		credentials, ok := s.awaitAttempt(ctx)
		if !ok {
			return
		}
		session, err := s.connect(ctx, credentials)
		if err != nil {
			s.recordFailure(credentials, sanitizeError(err))
			continue
		}
		s.setConnected(credentials, session)
		err = s.monitorSession(ctx, session)
		session.close()
		s.recordLoss(sanitizeError(err))
	}
}

// awaitAttempt waits until there are credentials and the backoff is over. False means that ctx has ended.
func (s *supervisor) awaitAttempt(ctx context.Context) (Credentials, bool) {
	for ctx.Err() == nil {
		s.mu.RLock()
		select { // what changes from here on ends the attempt that follows
		case <-s.credentialsChanged:
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
		case <-s.credentialsChanged:
		case <-timer:
		}
	}
	return Credentials{}, false
}

// connect opens a session and returns it once it is complete. Credentials that change meanwhile end the attempt.
func (s *supervisor) connect(ctx context.Context, credentials Credentials) (*session, error) {
	exceeded := make(chan error, 1)
	link := wire.NewClusterLimits(s.weights, s.rate, func(err error) { trySend(exceeded, err) })
	config, disconnect, err := wire.Bounded(credentials.Config, link)
	if err != nil {
		return nil, err
	}
	c, err := s.options.Dial(s.stats.wrapConfig(config))
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	session, start, err := s.newSession(ctx, c)
	if err != nil {
		return nil, err
	}
	session.exceeded, session.closeConnections = exceeded, disconnect
	if err := s.establish(ctx, session, start); err != nil {
		session.close()
		session.removeFromIndex()
		return nil, err
	}
	return session, nil
}

// establish returns when the cluster answers and its informers are complete. A cluster that does not answer keeps no other
// waiting at the list limiter.
func (s *supervisor) establish(ctx context.Context, opened *session, start func()) error {
	for _, ask := range []func(context.Context) error{opened.probe, opened.readIdentity} {
		if err := s.runStep(ctx, opened, ask); err != nil {
			return err
		}
	}
	leave, err := s.listLimiter.acquire(ctx, s.credentialsChanged, s.options.Clock)
	if err != nil {
		s.signalCredentialsChanged()
		return err
	}
	defer leave()
	start()
	return s.runStep(ctx, opened, opened.awaitKinds)
}

// runStep does a part of a connection attempt, with patience. Credentials that change meanwhile end it.
func (s *supervisor) runStep(ctx context.Context, opened *session, do func(context.Context) error) error {
	patience, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout(s.State().Failures))
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- do(patience) }()
	select {
	case err := <-result:
		return err
	case err := <-opened.exceeded:
		return err
	case <-s.credentialsChanged:
		s.signalCredentialsChanged()
		return errCredentialsChanged
	case <-patience.Done():
		return fmt.Errorf("connect: %w", context.Cause(patience))
	}
}

// requestProbe has the present connection probed at once: a watch that is refused keeps trying for long before it reports
// that.
func (s *supervisor) requestProbe() {
	if session := s.currentSession(); session != nil {
		session.requestProbe()
	}
}

// signalCredentialsChanged keeps a renewal for due, which is where it is acted upon.
func (s *supervisor) signalCredentialsChanged() {
	select {
	case s.credentialsChanged <- struct{}{}:
	default:
	}
}

// newSession makes a session, and what opens its informers and writers.
func (s *supervisor) newSession(ctx context.Context, c client.WithWatch) (opened *session, start func(), err error) {
	selector, err := labels.ValidatedSelectorFromSet(labels.Set{kueue.MultiKueueOriginLabel: s.options.Origin})
	if err != nil {
		return nil, nil, fmt.Errorf("select by origin: %w", err)
	}
	s.actionQueues.reset()
	ctx, stop := context.WithCancel(ctx)
	opened = &session{
		options: s.options, selector: selector, client: c, actionQueues: s.actionQueues, deletedObjects: s.deletedObjects,
		workQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.NamespacedName]{
			Clock: s.options.Clock,
		}),
		probeRequests: make(chan struct{}, 1), stop: stop, name: s.name, lease: s.lease, requeueAffected: s.requeueAffected, stats: s.stats,
		index: s.index, supervisor: s, listSlots: make(chan struct{}, maxConcurrentLists),
		kinds: map[schema.GroupVersionKind]*kindInformer{},
	}
	return opened, func() { opened.start(ctx) }, nil
}

// monitorSession watches over a connection and returns why it ended.
func (s *supervisor) monitorSession(ctx context.Context, session *session) error {
	ticker := s.options.Clock.NewTicker(s.options.ProbeInterval)
	defer ticker.Stop()
	if s.options.Lease != nil {
		leasing, stop := context.WithCancel(ctx)
		defer stop()
		session.running.Go(func() { session.runLeaseRenewal(leasing) })
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.credentialsChanged:
			s.signalCredentialsChanged()
			return errCredentialsChanged
		case err := <-session.exceeded:
			return err
		case <-session.probeRequests:
		case <-ticker.C():
		}
		if err := session.probeTwice(ctx); err != nil {
			return err
		}
		s.refreshUnserved(session)
	}
}

// setConnected makes a complete session the one that the hub sees. What vanished since the last one is remembered before, so
// that a reconcile that misses an object finds out how it ended.
func (s *supervisor) setConnected(credentials Credentials, session *session) {
	before := s.currentSession()
	s.recordVanished(before, session)
	s.mu.Lock()
	s.session, s.sessionStart = session, s.options.Clock.Now()
	s.state = State{
		Cluster: s.name, Connected: true, EverConnected: true, ConnectionNumber: s.stats.connections.Add(1), Fingerprint: credentials.Fingerprint, Unserved: session.unserved(),
		ServesSwitchyard: session.servesSwitchyard, Identity: session.identity, IdentityError: errorText(session.identityErr),
	}
	s.mu.Unlock()
	if before != nil {
		before.removeFromIndex()
	}
	look := s.requeueNow
	if before == nil {
		look = s.requeueLowPriority // the program has just started, or the cluster is new: what is there has time
	}
	s.requeueAffectedWith(look)
	for _, key := range session.listWorkloads() { // their events came before the hub could act on them
		look(key)
	}
}

func (s *supervisor) requeueNow(key types.NamespacedName) { s.requeueWorkload(key, 0) }

// recordVanished keeps what vanished between two sessions.
func (s *supervisor) recordVanished(before, now *session) {
	if before == nil {
		return
	}
	for _, k := range s.options.kinds.list() {
		was, is := before.informerFor(k.GVK), now.informerFor(k.GVK)
		if was.informer == nil || is.informer == nil || !is.informer.HasSynced() {
			continue
		}
		for _, last := range was.list() {
			if is.lookup(storeKey(client.ObjectKeyFromObject(last))) != nil {
				continue
			}
			key, ok := k.WorkloadKey(last)
			if known, have := s.deletedObjects.get(key, k.GVK); ok && s.options.OwnsWorkload(key) && (!have || known.LastState.GetUID() != last.GetUID()) {
				s.deletedObjects.add(key, k.GVK, DeletedObject{LastState: last})
			}
		}
	}
}

// refreshUnserved tells the hub when a cluster has begun or ceased to serve a kind.
func (s *supervisor) refreshUnserved(session *session) {
	if s.updateUnserved(session) {
		s.requeueAffected()
	}
}

// updateUnserved takes over what a cluster does not serve, has its condition looked at if that is new, and reports whether it is.
func (s *supervisor) updateUnserved(session *session) bool {
	unserved := session.unserved()
	s.mu.Lock()
	same := slices.EqualFunc(s.state.Unserved, unserved, func(a, b Unserved) bool {
		return a.GVK == b.GVK && errorText(a.Err) == errorText(b.Err)
	})
	s.state.Unserved = unserved
	s.mu.Unlock()
	if !same {
		s.clusterRequests.Enqueue(types.NamespacedName{Name: s.name}, 0)
	}
	return !same
}

// recordFailure records a failed attempt to connect. It does not count if the credentials were replaced meanwhile.
func (s *supervisor) recordFailure(credentials Credentials, err error) {
	s.mu.Lock()
	if s.credentials != nil && s.credentials.Fingerprint == credentials.Fingerprint {
		s.state.Failures++
		s.state.NextAttempt = s.options.Clock.Now().Add(s.options.Backoff(s.state.Failures + max(s.shortSessions-1, 0)))
		s.state.Err = err
		s.state.Fingerprint = credentials.Fingerprint
	}
	first := s.state.Failures == 1
	s.mu.Unlock()
	s.clusterRequests.Enqueue(types.NamespacedName{Name: s.name}, 0)
	if first {
		s.requeueAffected()
	}
}

// recordLoss ends what a session was good for. A connection that breaks is made again at once, unless the one before did not hold either:
// each costs a list of everything.
func (s *supervisor) recordLoss(err error) {
	now := s.options.Clock.Now()
	s.mu.Lock()
	s.state.Connected = false
	s.state.LostSince = now
	if s.state.Err == nil {
		s.state.Err = err
	}
	switch {
	case errors.Is(err, wire.ErrExceeded): // there is no use in trying again at once
		s.shortSessions = max(s.shortSessions, 1) + 1
	case errors.Is(err, errCredentialsChanged), !now.Before(s.sessionStart.Add(s.options.MinSessionDuration)):
		s.shortSessions = 0
	default:
		s.shortSessions++
	}
	if s.shortSessions > 1 {
		s.state.NextAttempt = now.Add(s.options.Backoff(s.shortSessions - 1))
	}
	s.mu.Unlock()
	s.actionQueues.reset()
	s.orphans.clear() // they are found again
	s.requeueAffected()
}

// requeueAffected makes the hub look at the cluster and at every Workload that depends on it.
func (s *supervisor) requeueAffected() { s.requeueAffectedWith(s.requeueNow) }

// requeueAffectedWith is requeueAffected with a choice of how to requeue the Workloads that look for no cluster. Those that
// look for one are few as a rule, and urgent.
func (s *supervisor) requeueAffectedWith(look func(types.NamespacedName)) {
	s.clusterRequests.Enqueue(types.NamespacedName{Name: s.name}, 0)
	seekers, others := s.options.AffectedWorkloads(s.name)
	for _, key := range seekers {
		s.workloadRequests.Enqueue(key, 0)
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
		state.DegradedReason, state.AllowTrial = s.session.degradation(s.options.Clock.Now())
	}
	return state
}

// setActions replaces what is to be done about a Workload. While the cluster is not connected nothing is kept: the caller
// decides anew when it is.
func (s *supervisor) setActions(key types.NamespacedName, actions []Action) {
	s.mu.RLock()
	connected, session := s.state.Connected, s.session
	s.mu.RUnlock()
	if connected && s.actionQueues.setActions(key, actions) {
		session.workQueue.Add(key)
	}
}

// informerFor is the informer of a kind. Of a cluster without a session it is one that has nothing and is not synced.
func (s *supervisor) informerFor(gvk schema.GroupVersionKind) *kindInformer {
	session := s.currentSession()
	if session == nil {
		return &kindInformer{}
	}
	return session.informerFor(gvk)
}

// currentSession is the session that the hub sees, nil before the first.
func (s *supervisor) currentSession() *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.session
}

// get returns an object as it was last seen, nil if none was; false while the kind is not served, or not known yet.
func (s *supervisor) get(gvk schema.GroupVersionKind, key string) (client.Object, bool) {
	kind := s.informerFor(gvk)
	if kind.informer == nil || !kind.informer.HasSynced() {
		return nil, false
	}
	return kind.lookup(key), true
}
