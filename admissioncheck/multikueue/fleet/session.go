package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// session is one connection: a client, the informers fed by it and the writers that use it. It ends as a whole.
type session struct {
	name            string
	options         Options
	selector        labels.Selector
	client          client.WithWatch
	actionQueues    *actionQueues
	breaker         breaker
	latency         latencyTracker
	stats           *callStats
	deletedObjects  *deletedObjects
	index           *clusterIndex
	supervisor      *supervisor
	workQueue       workqueue.TypedDelayingInterface[types.NamespacedName]
	requeueAffected func()                // makes the hub look at the cluster and at what depends on it
	probeRequests   chan struct{}         // somebody had trouble: probe now
	exceeded        chan error            // capacity 1: the cluster's answers went beyond a bound
	listSlots       chan struct{}         // slots for lists
	memoryUsage     memoryUsage           // what is kept of the cluster
	lease           *leaseTracker         // what is known of the run lease and of the fence
	lastLease       *coordinationv1.Lease // the run lease as it was written last over this connection; of keepLease alone

	identity         types.UID // of the cluster; read once, before anything is followed
	identityErr      error     // why it is not known
	servesSwitchyard bool      // whether our program is installed there

	stop             context.CancelFunc
	closeConnections func() // ends the connections that nobody uses any more; nil if there are none
	running          sync.WaitGroup

	mu    sync.RWMutex
	kinds map[schema.GroupVersionKind]*kindInformer
}

// start opens all informers and writers.
func (s *session) start(ctx context.Context) {
	s.running.Go(func() { s.followKinds(ctx) })
	for range s.options.Writers {
		s.running.Go(func() { s.runWriter(ctx) })
	}
}

// close stops everything and waits for it: no call of this session begins afterwards.
func (s *session) close() {
	s.stop()
	s.workQueue.ShutDown()
	s.running.Wait()
	if s.closeConnections != nil {
		s.closeConnections()
	}
}

// removeFromIndex forgets where its objects were: it has ended, and the hub sees another.
func (s *session) removeFromIndex() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range s.kinds {
		if f.delivered != nil {
			f.delivered.removeFromIndex()
		}
	}
}

// errUnavailable says that an API server was away while it was probed. Even if it answers again nothing that was seen of it before counts:
// it may have been put back to a backup, and no watch that goes on from what was seen last would tell what is no more.
var errUnavailable = errors.New("the API server was away for a moment")

// probeTwice probes, once more if that fails. A server that drops requests meanwhile, watches that go on among them, was away, whether
// or not the probe that is repeated underneath gets its answer in time.
func (s *session) probeTwice(ctx context.Context) (err error) {
	for range 2 {
		before := s.stats.dropped.Load()
		err = s.probe(ctx)
		switch {
		case s.stats.dropped.Load() != before:
			return cmp.Or(err, errUnavailable)
		case err == nil:
			return nil
		}
	}
	return err
}

// listWorkloads lists the Workloads of which something is seen.
func (s *session) listWorkloads() []types.NamespacedName {
	var keys []types.NamespacedName
	for _, k := range s.options.kinds.list() {
		f := s.informerFor(k.GVK)
		if f.informer == nil {
			continue
		}
		h := &eventHandler{session: s, kind: k}
		for _, item := range f.informer.GetStore().List() {
			keys = append(keys, h.affectedWorkloads(asObject(item))...)
		}
	}
	return keys
}

// requestProbe asks for a probe at once. It never blocks.
func (s *session) requestProbe() {
	select {
	case s.probeRequests <- struct{}{}:
	default:
	}
}

// endExceeded ends the session because the cluster's answers went beyond a bound. It never blocks.
func (s *session) endExceeded(err error) { trySend(s.exceeded, err) }

// trySend sends the first of several errors. It never blocks.
func trySend(to chan<- error, err error) {
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
	_, answered := s.latency.startCall(s.options.Clock.Now())
	defer func() { answered(s.options.Clock.Now()) }()
	none, err := labels.NewRequirement(probeLabel, selection.Exists, nil)
	if err != nil {
		return fmt.Errorf("select nothing: %w", err)
	}
	for _, k := range s.options.kinds.list() {
		if k.Required {
			return s.client.List(ctx, k.NewList(), &client.ListOptions{
				LabelSelector: s.selector.Add(*none), Raw: &metav1.ListOptions{ResourceVersion: "0"},
			})
		}
	}
	return errors.New("no kind is required")
}

// runWriter runs the actions of the action queues until the session ends.
func (s *session) runWriter(ctx context.Context) {
	for {
		key, shutdown := s.workQueue.Get()
		if shutdown {
			return
		}
		s.runQueue(ctx, key)
		s.workQueue.Done(key)
	}
}

// runQueue runs the actions of one Workload on the cluster, one after the other, until there is none or the breaker holds
// them back.
func (s *session) runQueue(ctx context.Context, key types.NamespacedName) {
	for ctx.Err() == nil {
		if wait := s.breaker.delay(s.options.Clock.Now(), s.options.CallTimeout, s.actionQueues.isIdle(key)); wait > 0 {
			s.workQueue.AddAfter(key, wait)
			if s.actionQueues.markHeld(key) {
				s.supervisor.requeueWorkload(key, 0) // it may be better off elsewhere
			}
			return
		}
		r, wait := s.actionQueues.nextRun(key, s.options.Clock.Now())
		if wait > 0 {
			s.workQueue.AddAfter(key, wait)
		}
		if !r.ok {
			return
		}
		s.runAction(ctx, key, r)
	}
}

// runAction runs one action within its timeout, and records its result. One that is overdue has the connection probed and
// the Workload requeued.
func (s *session) runAction(ctx context.Context, key types.NamespacedName, r actionRun) {
	call, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	limit, answered := s.latency.startCall(s.options.Clock.Now())
	overdue := s.options.Clock.AfterFunc(limit, func() { s.requestProbe(); s.supervisor.requeueWorkload(key, 0) })
	value, err := r.action.Run(call, s.client)
	err = sanitizeError(err)
	overdue.Stop()
	answered(s.options.Clock.Now())
	if ctx.Err() != nil {
		return
	}
	now := s.options.Clock.Now()
	if pause, changed := s.breaker.recordResult(err, now); changed {
		s.logBreaker(ctx, err, pause)
		s.requeueUnplaced(ctx, now, pause)
	}
	news := s.actionQueues.recordResult(key, r, value, err, now)
	if isUnreachable(err) {
		s.requestProbe()
	}
	if news {
		s.supervisor.requeueWorkload(key, 0)
	}
}

// logBreaker logs why nothing is tried any more, once, and that it is tried again.
func (s *session) logBreaker(ctx context.Context, err error, pause time.Duration) {
	logger := log.FromContext(ctx).WithValues("cluster", s.name)
	if pause == 0 {
		logger.Info("A cluster does what it is asked again")
		return
	}
	if pause == minBreakerPause {
		logger.Error(err, "Calls to a cluster fail one after the other")
	}
}

// requeueUnplaced requeues the Workloads that look for a cluster when this one may be tried again, unless it was by then:
// they have passed it over.
func (s *session) requeueUnplaced(ctx context.Context, now time.Time, pause time.Duration) {
	look := func() {
		seekers, _ := s.options.AffectedWorkloads(s.name)
		for _, key := range seekers {
			s.supervisor.workloadRequests.Enqueue(key, 0)
		}
	}
	if pause == 0 {
		look()
		return
	}
	s.options.Clock.AfterFunc(pause, func() {
		if ctx.Err() == nil && s.breaker.isPausedUntil(now.Add(pause)) {
			look()
		}
	})
}

// failingReason is said of a cluster whose breaker is open.
const failingReason = "calls to it fail one after the other"

// degradation says why the cluster may not do what is asked of it, though it is connected, empty if there is no sign of that; and
// whether it is to be tried all the same.
func (s *session) degradation(now time.Time) (why string, onTrial bool) {
	open, trial := s.breaker.isOpen(now)
	switch overdue := s.latency.isOverdue(now); {
	case open:
		return failingReason, trial && !overdue // whose calls, and why, is nobody else's business
	case overdue:
		return "its answers are overdue", false
	}
	return "", false
}

// isUnreachable tells an error of the connection from an answer of the server, and from that of a client that has found no such
// kind there.
func isUnreachable(err error) bool {
	if err == nil || meta.IsNoMatchError(err) {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status)
}
