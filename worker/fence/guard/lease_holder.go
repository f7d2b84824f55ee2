package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/kube"
)

const (
	// renewEvery is the time between two renewals of the fence's own lease, retryEvery that after one that failed.
	renewEvery, retryEvery = 10 * time.Second, 2 * time.Second
	// fenceDuration is for how long, in seconds, a renewal tells that the fence is alive.
	fenceDuration int32 = 30
	// releaseTimeout bounds the goodbye of a program that was told to stop.
	releaseTimeout = 2 * time.Second
)

// LeaseHolder keeps the fence's own lease, by which hubs see that a fence looks at theirs. It costs one write every ten
// seconds. A program that ends in order gives the lease back: its holder is then empty.
type LeaseHolder struct {
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Synced blocks until the caches show what there is. The fence does nothing before that.
	Synced    func(context.Context) bool
	Clock     clock.WithTicker
	Namespace string
	// Identity is the holder, other than that of any other program or of this one in an earlier life.
	Identity string
	// Guarantee is what the fence promises, given what the lease says against that so far; nil promises nothing. It reads caches.
	Guarantee func(ctx context.Context, before string) (Guarantee, error)

	// held is the lease as it was seen last; nil if it has to be read. written is the lease as this program wrote it last.
	held, written *coordinationv1.Lease
}

// ErrRestored says that the API server was put back to an earlier state while this program ran. Its caches may show what is not there any
// more, and their watches need not end: the program has to end, and to begin anew.
var ErrRestored = errors.New("the API server was put back to an earlier state; this program ends, to begin anew with what is there")

// NeedLeaderElection tells that only the leading program has a fence.
func (p *LeaseHolder) NeedLeaderElection() bool { return true }

// Start renews the lease until the context ends, and then gives it back. It ends with ErrRestored if the API server was put back.
func (p *LeaseHolder) Start(ctx context.Context) error {
	if !p.Synced(ctx) {
		return nil
	}
	log := ctrl.LoggerFrom(ctx).WithName("fence")
	for {
		wait := renewEvery
		err := p.renew(ctx)
		if errors.Is(err, ErrRestored) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "The fence's lease was not renewed; hubs will take this cluster for unfenced")
			wait = retryEvery
		}
		select {
		case <-p.Clock.After(wait):
		case <-ctx.Done():
			if err := p.release(context.WithoutCancel(ctx)); err != nil {
				log.Error(err, "The fence's lease was not given back; it runs out by itself")
			}
			return nil
		}
	}
}

// renew writes the lease, which may be there from an earlier program.
func (p *LeaseHolder) renew(ctx context.Context) error {
	if p.held == nil {
		lease, err := p.readLease(ctx)
		if err != nil {
			return err
		}
		p.held = lease
	}
	next := p.held.DeepCopy()
	now := metav1.NewMicroTime(p.Clock.Now())
	if ptr.Deref(next.Spec.HolderIdentity, "") != p.Identity {
		next.Spec.HolderIdentity, next.Spec.AcquireTime = &p.Identity, &now
		next.Spec.LeaseTransitions = ptr.To(ptr.Deref(next.Spec.LeaseTransitions, -1) + 1)
	}
	next.Spec.RenewTime, next.Spec.LeaseDurationSeconds = &now, ptr.To(fenceDuration)
	if p.Guarantee != nil {
		word, err := p.Guarantee(ctx, next.Annotations[switchyard.CannotStopAnnotation])
		if err != nil {
			return err
		}
		setAnnotations(next, word)
	}
	return p.updateLease(ctx, next)
}

// setAnnotations puts the word on the lease.
func setAnnotations(lease *coordinationv1.Lease, word Guarantee) {
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, switchyard.StopsWithinAnnotation, word.Within.String())
	if word.Message == "" {
		delete(lease.Annotations, switchyard.CannotStopAnnotation)
		return
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, switchyard.CannotStopAnnotation, word.Message)
}

// release gives the lease back, if it is ours.
func (p *LeaseHolder) release(ctx context.Context) error {
	if p.held == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	next := p.held.DeepCopy()
	now := metav1.NewMicroTime(p.Clock.Now())
	next.Spec.HolderIdentity, next.Spec.RenewTime, next.Spec.LeaseDurationSeconds = ptr.To(""), &now, ptr.To[int32](1)
	return p.updateLease(ctx, next)
}

// updateLease replaces the lease as it was seen last. When that fails it is read again before the next write.
func (p *LeaseHolder) updateLease(ctx context.Context, next *coordinationv1.Lease) error {
	before := p.held
	p.held = nil
	if before.ResourceVersion == "" {
		if err := p.Client.Create(ctx, next); err != nil {
			return fmt.Errorf("create the fence's lease: %w", err)
		}
	} else if _, err := kube.Patch(ctx, p.Client, before, next); err != nil {
		return fmt.Errorf("renew the fence's lease: %w", err)
	}
	p.held, p.written = next, next
	return nil
}

// wasRestored reports whether a lease is older than this program has written it.
func (p *LeaseHolder) wasRestored(lease *coordinationv1.Lease) bool {
	if p.written == nil || lease.UID != p.written.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(lease.ResourceVersion, p.written.ResourceVersion)
	return err == nil && order < 0
}

// readLease reads the lease; one that does not exist has no resource version.
func (p *LeaseHolder) readLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: switchyard.FenceLease}, lease)
	if apierrors.IsNotFound(err) {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: switchyard.FenceLease}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the fence's lease: %w", err)
	}
	if p.wasRestored(lease) {
		return nil, ErrRestored
	}
	return lease, nil
}
