package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/fence"
)

// LeaseOptions say how the run lease of the hub is kept on each worker. Zero values mean the default given with each.
type LeaseOptions struct {
	// Namespace of the worker's program, where both leases live (kueue-system). Name is that of the hub's lease (after the
	// origin), Holder the holder that renews it (the same).
	Namespace, Name, Holder string
	// Identity of the hub, empty or nil as long as it is not known: a lease that another hub keeps is not renewed. Adopted are those
	// of former hubs whose leases are taken over.
	Identity          func() types.UID
	AdoptedIdentities func() []types.UID
	// Duration of a renewal (40 s), Every is the time between two (10 s), and Timeout bounds one call (5 s).
	Duration, RenewInterval, Timeout time.Duration
	// Skew is how far the clocks of hub and worker may be apart (5 s).
	Skew time.Duration
	// Margin is what the hub allows, in sum, for that and for a fence to stop the jobs there; one that says that it needs more
	// is none to rely on. Zero allows anything.
	Margin time.Duration
	// IsNeeded tells whether anything on the cluster depends on the lease. While nothing does, nothing is called. It must be
	// quick. Nil means always.
	IsNeeded func(cluster string) bool
}

// withDefaults fills in what is not set.
func (o LeaseOptions) withDefaults(origin string) LeaseOptions {
	o.Namespace = valueOr(o.Namespace, "kueue-system")
	o.Name = valueOr(o.Name, fence.LeaseName(origin))
	o.Holder = valueOr(o.Holder, o.Name)
	o.Duration = valueOr(o.Duration, 40*time.Second)
	o.RenewInterval = valueOr(o.RenewInterval, 10*time.Second)
	o.Timeout = valueOr(o.Timeout, 5*time.Second)
	o.Skew = valueOr(o.Skew, 5*time.Second)
	if o.IsNeeded == nil {
		o.IsNeeded = func(string) bool { return true }
	}
	return o
}

// Fencing is how a cluster's run lease and its fence stand.
type Fencing struct {
	// RenewalStarted tells that a renewal was tried over this or an earlier connection.
	RenewalStarted bool
	// Held tells that the last renewal succeeded or that its outcome is unknown. Without it, stamping a job with Stop would
	// have a fence stop it at once.
	Held bool
	// RenewedAt is the start of the last renewal that succeeded or whose outcome is unknown, on the hub's clock; at first,
	// when this program began to supervise the cluster: an earlier leader may have renewed until then. The worker may
	// believe in the lease until RenewedAt and the lease's duration.
	RenewedAt time.Time
	// ExpiresAt is when the last renewal runs out that is known to have succeeded, on the hub's clock; zero if none is. Lapsed tells
	// that it has run out in spite of attempts, or that none has succeeded for as long as one lasts: the fence stops what bears
	// the stamp.
	ExpiresAt time.Time
	Expired   bool
	// FenceAlive tells that the worker's fence was alive when it was looked at last, and believes our clock; Fence whether there is
	// one at all.
	FenceAlive    bool
	FencePresence FencePresence
	// Message says what is wrong when not Held or not Fenced; empty otherwise, and before it was looked at.
	Message string
}

// HasResult tells that an attempt to renew the lease has ended, one way or the other.
func (f Fencing) HasResult() bool { return f.Held || f.Message != "" }

// FencePresence is what has been seen of a worker's fence.
type FencePresence int

// FenceUnknown: nothing, or the worker does not let us look. Missing: it has none. Seen: it has, or had, one.
const (
	FenceUnknown FencePresence = iota
	FenceMissing
	FencePresent
)

// leaseTracker is the memory of one cluster's Fencing. It outlives sessions.
type leaseTracker struct {
	duration      time.Duration
	renewRequests chan struct{} // capacity 1: renew now

	mu         sync.Mutex
	current    Fencing
	firstTryAt time.Time // when the first attempt began
	lastTryAt  time.Time // when the last one did
}

// newLeaseTracker has options that may be nil: then it is never renewed.
func newLeaseTracker(began time.Time, o *LeaseOptions) *leaseTracker {
	l := &leaseTracker{current: Fencing{RenewedAt: began}, renewRequests: make(chan struct{}, 1)}
	if o != nil {
		l.duration = o.Duration
	}
	return l
}

// fencing is what the last look at the lease has shown.
func (l *leaseTracker) fencing() Fencing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// beginRenewal notes that a renewal starts. From here on the worker may believe in it, whatever becomes of the call.
func (l *leaseTracker) beginRenewal(at time.Time) (before time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.firstTryAt.IsZero() {
		l.firstTryAt = at
	}
	l.lastTryAt = at
	before, l.current.RenewedAt, l.current.RenewalStarted = l.current.RenewedAt, at, true
	return before
}

// startedSince reports whether an attempt has begun since then.
func (l *leaseTracker) startedSince(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lastTryAt.IsZero() && !l.lastTryAt.Before(at)
}

// endRenewal notes at a time what became of the renewal that began when RenewedAt was before, and what was seen of the fence; changed
// reports whether that is news. Only a server's refusal, and a write never begun, prove that a renewal has not happened.
func (l *leaseTracker) endRenewal(before, at time.Time, renewal, fence error) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.current
	refused := renewal != nil && (isDefiniteRefusal(renewal) || errors.Is(renewal, errNotSent) || errors.Is(renewal, errOtherHub))
	if refused {
		l.current.RenewedAt = before
	}
	l.current.Held = !refused
	if renewal == nil {
		l.current.ExpiresAt = l.lastTryAt.Add(l.duration)
	}
	l.current.Expired = renewal != nil && !at.Before(l.current.ExpiresAt) && !at.Before(l.firstTryAt.Add(l.duration))
	l.recordFence(fence)
	l.current.Message = errorText(errors.Join(sanitizeError(renewal), sanitizeError(fence)))
	back := renewal == nil && !l.lastTryAt.Before(was.ExpiresAt)
	was.RenewedAt, was.ExpiresAt = l.current.RenewedAt, l.current.ExpiresAt
	return back || was != l.current
}

// recordFence notes what a look at the fence has found; it needs the lock.
func (l *leaseTracker) recordFence(fence error) {
	switch {
	case fence == nil:
		l.current.FenceAlive, l.current.FencePresence = true, FencePresent
	case errors.Is(fence, errNoFence):
		l.current.FenceAlive, l.current.FencePresence = false, FencePresent
	case apierrors.IsNotFound(fence):
		l.current.FenceAlive, l.current.FencePresence = false, FenceMissing
	case isDefiniteRefusal(fence):
		l.current.FenceAlive = false
	}
}

// isDefiniteRefusal tells an answer of the server that proves that nothing was written from everything else.
func isDefiniteRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) ||
		apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsBadRequest(err)
}

// RequestLeaseRenewal makes the cluster's lease be renewed now, unless that was tried lately: something that depends on it is to be
// sent there. It does not block.
func (f *Fleet) RequestLeaseRenewal(cluster string) {
	s := f.lookup(cluster)
	if s == nil || f.options.Lease == nil {
		return
	}
	if !s.lease.startedSince(f.options.Clock.Now().Add(-f.options.Lease.RenewInterval)) {
		select {
		case s.lease.renewRequests <- struct{}{}:
		default:
		}
	}
}

// runLeaseRenewal renews the run lease until the session ends. It has its own goroutine and its own deadline, so that neither a
// full action queue nor a slow probe can let it run out.
func (s *session) runLeaseRenewal(ctx context.Context) {
	ticker := s.options.Clock.NewTicker(s.options.Lease.RenewInterval)
	defer ticker.Stop()
	for {
		if s.options.Lease.IsNeeded(s.name) {
			s.renewLease(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.lease.renewRequests:
		case <-ticker.C():
		}
	}
}

// renewLease renews the run lease and looks for the worker's fence, each within its timeout, and records what came of it.
func (s *session) renewLease(ctx context.Context) {
	began := s.options.Clock.Now()
	before := s.lease.beginRenewal(began)
	renewal := s.withLeaseTimeout(ctx, func(ctx context.Context) error { return s.writeLease(ctx, began) })
	if isLeaseConflict(renewal) {
		s.lastLease = nil
		renewal = s.withLeaseTimeout(ctx, func(ctx context.Context) error { return s.writeLease(ctx, began) })
	}
	if renewal != nil {
		s.lastLease = nil
	}
	fence := s.withLeaseTimeout(ctx, s.checkFence)
	if ctx.Err() != nil {
		return // RenewedAt stays where the attempt began: nobody knows what became of it
	}
	if s.lease.endRenewal(before, s.options.Clock.Now(), renewal, fence) {
		s.requeueAffected()
	}
	if isUnreachable(renewal) && !errors.Is(renewal, errOtherHub) {
		s.requestProbe()
	}
}

// isLeaseConflict tells that the lease is not as it was when we saw it last.
func isLeaseConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// withLeaseTimeout bounds a call about the lease, so that one answer that is lost does not cost the lease.
func (s *session) withLeaseTimeout(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Lease.Timeout)
	defer cancel()
	return call(ctx)
}

// errNotSent says that a renewal has not happened because its write was not even begun.
var errNotSent = errors.New("read the run lease")

// writeLease writes the lease with the time at which the attempt began: a call that is held up on its way must not make the
// worker believe for longer than the hub does.
func (s *session) writeLease(ctx context.Context, began time.Time) error {
	o, next := s.options.Lease, s.lastLease
	if next == nil {
		next = &coordinationv1.Lease{}
		err := s.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, next)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("%w: %w", errNotSent, err)
		}
	}
	if err := o.checkHolder(next, began); err != nil {
		return err
	}
	next.Name, next.Namespace = o.Name, o.Namespace
	o.setHubIdentity(next)
	next.Spec.HolderIdentity = &o.Holder
	next.Spec.LeaseDurationSeconds = ptr.To(int32(o.Duration / time.Second))
	next.Spec.RenewTime = &metav1.MicroTime{Time: began}
	write := func() error { return s.client.Update(ctx, next) }
	if next.ResourceVersion == "" {
		write = func() error { return s.client.Create(ctx, next) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("renew the run lease: %w", err)
	}
	s.lastLease = next
	return nil
}

// errNoFence says that there is no fence to rely on.
var errNoFence = errors.New("no fence")

// checkFence returns nil if the worker's fence is alive.
func (s *session) checkFence(ctx context.Context) error {
	o := s.options.Lease
	own := &coordinationv1.Lease{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: switchyard.FenceLease}, own)
	if err != nil {
		return fmt.Errorf("read the fence's lease: %w", err)
	}
	renewed := own.Spec.RenewTime
	if own.Spec.HolderIdentity == nil || *own.Spec.HolderIdentity == "" {
		return fmt.Errorf("%w: its program has ended", errNoFence)
	}
	if renewed == nil || own.Spec.LeaseDurationSeconds == nil {
		return fmt.Errorf("%w: its lease says nothing", errNoFence)
	}
	if err := o.checkStopPromise(own.Annotations); err != nil {
		return err
	}
	lasts := time.Duration(*own.Spec.LeaseDurationSeconds) * time.Second
	switch age := s.options.Clock.Now().Sub(renewed.Time); {
	case age > lasts+o.Skew:
		return fmt.Errorf("%w: not renewed since %s", errNoFence, renewed.UTC().Format(time.RFC3339))
	case age < -o.Skew:
		return fmt.Errorf("%w: the cluster's clock is ahead by more than %s", errNoFence, o.Skew)
	}
	return nil
}

// checkStopPromise returns nil if a fence that says so can be relied on. One that says nothing at all is of a program that knows no better.
func (o LeaseOptions) checkStopPromise(says map[string]string) error {
	if trouble := says[switchyard.CannotStopAnnotation]; trouble != "" {
		return fmt.Errorf("%w to rely on: %s", errNoFence, trouble)
	}
	text, told := says[switchyard.StopsWithinAnnotation]
	if !told {
		return nil
	}
	within, err := time.ParseDuration(text)
	if err != nil || within < 0 {
		return fmt.Errorf("%w to rely on: of how long it may take it says %q, which is no duration", errNoFence, text)
	}
	if allowed := o.Margin - o.Skew; o.Margin > 0 && within > allowed {
		return fmt.Errorf("%w to rely on: it may take %s to stop its jobs, more than the %s that the hub allows", errNoFence, within, allowed)
	}
	return nil
}
