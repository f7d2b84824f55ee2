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
	// origin), Holder who renews it (the same).
	Namespace, Name, Holder string
	// Identity of the hub, empty or nil as long as it is not known: a lease that another hub keeps is not renewed. Adopted are those
	// of former hubs whose leases are taken over.
	Identity func() types.UID
	Adopted  func() []types.UID
	// Duration of a renewal (40 s), Every is the time between two (10 s), and Timeout bounds one call (5 s).
	Duration, Every, Timeout time.Duration
	// Skew is how far the clocks of hub and worker may be apart (5 s).
	Skew time.Duration
	// Margin is what the hub allows, in sum, for that and for a fence to stop the jobs there; one that says that it needs more
	// is none to rely on. Zero allows anything.
	Margin time.Duration
	// Wanted tells whether anything on the cluster depends on the lease. While nothing does, nothing is called. It must be
	// quick. Nil means always.
	Wanted func(cluster string) bool
}

func (o LeaseOptions) withDefaults(origin string) LeaseOptions {
	o.Namespace = orElse(o.Namespace, "kueue-system")
	o.Name = orElse(o.Name, fence.LeaseName(origin))
	o.Holder = orElse(o.Holder, o.Name)
	o.Duration = orElse(o.Duration, 40*time.Second)
	o.Every = orElse(o.Every, 10*time.Second)
	o.Timeout = orElse(o.Timeout, 5*time.Second)
	o.Skew = orElse(o.Skew, 5*time.Second)
	if o.Wanted == nil {
		o.Wanted = func(string) bool { return true }
	}
	return o
}

// Fencing is how a cluster's run lease and its fence stand.
type Fencing struct {
	// Asked tells that a renewal was tried over this or an earlier connection.
	Asked bool
	// Held tells that the last renewal succeeded or that its outcome is unknown. Without it, stamping a job with Stop would
	// have a fence stop it at once.
	Held bool
	// RenewedAt is the start of the last renewal that succeeded or whose outcome is unknown, on the hub's clock; at first,
	// when this program began to supervise the cluster: an earlier leader may have renewed until then. The worker may
	// believe in the lease until RenewedAt and the lease's duration.
	RenewedAt time.Time
	// Until is when the last renewal runs out that is known to have succeeded, on the hub's clock; zero if none is. Lapsed tells
	// that it has run out in spite of attempts, or that none has succeeded for as long as one lasts: the fence stops what bears
	// the stamp.
	Until  time.Time
	Lapsed bool
	// Fenced tells that the worker's fence was alive when it was looked at last, and believes our clock; Fence whether there is
	// one at all.
	Fenced bool
	Fence  Sight
	// Why says what is wrong when not Held or not Fenced; empty otherwise, and before it was looked at.
	Why string
}

// Tried tells that an attempt to renew the lease has ended, one way or the other.
func (f Fencing) Tried() bool { return f.Held || f.Why != "" }

// Sight is what has been seen of a worker's fence.
type Sight int

// NotLooked: nothing, or the worker does not let us look. Missing: it has none. Seen: it has, or had, one.
const (
	NotLooked Sight = iota
	Missing
	Seen
)

// lease is the memory of one cluster's Fencing. It outlives sessions.
type lease struct {
	lasts time.Duration
	kick  chan struct{} // capacity 1: renew now

	mu    sync.Mutex
	now   Fencing
	first time.Time // when the first attempt began
	last  time.Time // when the last one did
}

// newLease has options that may be nil: then it is never renewed.
func newLease(began time.Time, o *LeaseOptions) *lease {
	l := &lease{now: Fencing{RenewedAt: began}, kick: make(chan struct{}, 1)}
	if o != nil {
		l.lasts = o.Duration
	}
	return l
}

func (l *lease) fencing() Fencing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// begin notes that a renewal starts. From here on the worker may believe in it, whatever becomes of the call.
func (l *lease) begin(at time.Time) (before time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first.IsZero() {
		l.first = at
	}
	l.last = at
	before, l.now.RenewedAt, l.now.Asked = l.now.RenewedAt, at, true
	return before
}

// triedSince reports whether an attempt has begun since then.
func (l *lease) triedSince(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.last.IsZero() && !l.last.Before(at)
}

// end notes at a time what became of the renewal that began when RenewedAt was before, and what was seen of the fence; changed
// reports whether that is news. Only a server's refusal, and a write never begun, prove that a renewal has not happened.
func (l *lease) end(before, at time.Time, renewal, fence error) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.now
	refused := renewal != nil && (definite(renewal) || errors.Is(renewal, errUnsent) || errors.Is(renewal, errOtherHub))
	if refused {
		l.now.RenewedAt = before
	}
	l.now.Held = !refused
	if renewal == nil {
		l.now.Until = l.last.Add(l.lasts)
	}
	l.now.Lapsed = renewal != nil && !at.Before(l.now.Until) && !at.Before(l.first.Add(l.lasts))
	l.saw(fence)
	l.now.Why = text(errors.Join(presentable(renewal), presentable(fence)))
	back := renewal == nil && !l.last.Before(was.Until)
	was.RenewedAt, was.Until = l.now.RenewedAt, l.now.Until
	return back || was != l.now
}

// saw notes what a look at the fence has found; it needs the lock.
func (l *lease) saw(fence error) {
	switch {
	case fence == nil:
		l.now.Fenced, l.now.Fence = true, Seen
	case errors.Is(fence, errFence):
		l.now.Fenced, l.now.Fence = false, Seen
	case apierrors.IsNotFound(fence):
		l.now.Fenced, l.now.Fence = false, Missing
	case definite(fence):
		l.now.Fenced = false
	}
}

// definite tells an answer of the server that proves that nothing was written from everything else.
func definite(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) ||
		apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsBadRequest(err)
}

// KeepLease makes the cluster's lease be renewed now, unless that was tried lately: something that depends on it is to be
// sent there. It does not block.
func (f *Fleet) KeepLease(cluster string) {
	s := f.lookup(cluster)
	if s == nil || f.options.Lease == nil {
		return
	}
	if !s.lease.triedSince(f.options.Clock.Now().Add(-f.options.Lease.Every)) {
		select {
		case s.lease.kick <- struct{}{}:
		default:
		}
	}
}

// keepLease renews the run lease until the session ends. It has its own goroutine and its own deadline, so that neither a
// full lane nor a slow probe can let it run out.
func (s *session) keepLease(ctx context.Context) {
	ticker := s.options.Clock.NewTicker(s.options.Lease.Every)
	defer ticker.Stop()
	for {
		if s.options.Lease.Wanted(s.name) {
			s.renewLease(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.lease.kick:
		case <-ticker.C():
		}
	}
}

func (s *session) renewLease(ctx context.Context) {
	began := s.options.Clock.Now()
	before := s.lease.begin(began)
	renewal := s.within(ctx, func(ctx context.Context) error { return s.renew(ctx, began) })
	if lostRace(renewal) {
		s.renewed = nil
		renewal = s.within(ctx, func(ctx context.Context) error { return s.renew(ctx, began) })
	}
	if renewal != nil {
		s.renewed = nil
	}
	fence := s.within(ctx, s.lookAtFence)
	if ctx.Err() != nil {
		return // RenewedAt stays where the attempt began: nobody knows what became of it
	}
	if s.lease.end(before, s.options.Clock.Now(), renewal, fence) {
		s.announce()
	}
	if unreachable(renewal) && !errors.Is(renewal, errOtherHub) {
		s.doubt()
	}
}

// lostRace tells that the lease is not as it was when we saw it last.
func lostRace(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func (s *session) within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Lease.Timeout)
	defer cancel()
	return call(ctx)
}

// errUnsent says that a renewal has not happened because its write was not even begun.
var errUnsent = errors.New("read the run lease")

// renew writes the lease with the time at which the attempt began: a call that is held up on its way must not make the
// worker believe for longer than the hub does.
func (s *session) renew(ctx context.Context, began time.Time) error {
	o, next := s.options.Lease, s.renewed
	if next == nil {
		next = &coordinationv1.Lease{}
		err := s.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, next)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("%w: %w", errUnsent, err)
		}
	}
	if err := o.ours(next, began); err != nil {
		return err
	}
	next.Name, next.Namespace = o.Name, o.Namespace
	o.sign(next)
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
	s.renewed = next
	return nil
}

// errFence says that there is no fence to rely on.
var errFence = errors.New("no fence")

// lookAtFence returns nil if the worker's fence is alive.
func (s *session) lookAtFence(ctx context.Context) error {
	o := s.options.Lease
	own := &coordinationv1.Lease{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: switchyard.FenceLease}, own)
	if err != nil {
		return fmt.Errorf("read the fence's lease: %w", err)
	}
	renewed := own.Spec.RenewTime
	if own.Spec.HolderIdentity == nil || *own.Spec.HolderIdentity == "" {
		return fmt.Errorf("%w: its program has ended", errFence)
	}
	if renewed == nil || own.Spec.LeaseDurationSeconds == nil {
		return fmt.Errorf("%w: its lease says nothing", errFence)
	}
	if err := o.believes(own.Annotations); err != nil {
		return err
	}
	lasts := time.Duration(*own.Spec.LeaseDurationSeconds) * time.Second
	switch age := s.options.Clock.Now().Sub(renewed.Time); {
	case age > lasts+o.Skew:
		return fmt.Errorf("%w: not renewed since %s", errFence, renewed.UTC().Format(time.RFC3339))
	case age < -o.Skew:
		return fmt.Errorf("%w: the cluster's clock is ahead by more than %s", errFence, o.Skew)
	}
	return nil
}

// believes returns nil if a fence that says so can be relied on. One that says nothing at all is of a program that knows no better.
func (o LeaseOptions) believes(says map[string]string) error {
	if trouble := says[switchyard.CannotStopAnnotation]; trouble != "" {
		return fmt.Errorf("%w to rely on: %s", errFence, trouble)
	}
	text, told := says[switchyard.StopsWithinAnnotation]
	if !told {
		return nil
	}
	within, err := time.ParseDuration(text)
	if err != nil || within < 0 {
		return fmt.Errorf("%w to rely on: of how long it may take it says %q, which is no duration", errFence, text)
	}
	if allowed := o.Margin - o.Skew; o.Margin > 0 && within > allowed {
		return fmt.Errorf("%w to rely on: it may take %s to stop its jobs, more than the %s that the hub allows", errFence, within, allowed)
	}
	return nil
}
