package guard

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// presence is a fence's lease in a world with an API server.
type presence struct {
	*LeaseHolder
	clock *testclock.FakeClock
	// writes gets a value for every write; failing makes them fail.
	writes  chan struct{}
	failing error
}

func newPresence(t *testing.T, identity string, c client.Client) *presence {
	t.Helper()
	p := &presence{clock: testclock.NewFakeClock(noon), writes: make(chan struct{}, 10)}
	if c == nil {
		c = fake.NewClientBuilder().WithScheme(known(t)).Build()
	}
	inner, ok := c.(client.WithWatch)
	if !ok {
		t.Fatal("the client cannot watch")
	}
	counted := interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			p.writes <- struct{}{}
			return errors.Join(p.failing, c.Create(ctx, o, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			p.writes <- struct{}{}
			return errors.Join(p.failing, c.Patch(ctx, o, patch, opts...))
		},
	})
	p.LeaseHolder = &LeaseHolder{
		Client: counted, Live: inner, Synced: func(context.Context) bool { return true }, Clock: p.clock,
		Namespace: namespace, Identity: identity,
	}
	return p
}

func (p *presence) lease(t *testing.T) coordinationv1.LeaseSpec {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := p.Live.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "switchyard-fence"}, lease); err != nil {
		t.Fatal(err)
	}
	return lease.Spec
}

func TestTheFenceRenewsItsLeaseEveryTenSecondsAndGivesItBack(t *testing.T) {
	p := newPresence(t, "me", nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Start(ctx) }()
	for i := range 3 {
		<-p.writes
		for !p.clock.HasWaiters() { // it waits for the next renewal
			if ctx.Err() != nil {
				t.Fatal(ctx.Err())
			}
		}
		spec := p.lease(t)
		if *spec.HolderIdentity != "me" || *spec.LeaseDurationSeconds != 30 || !spec.RenewTime.Time.Equal(p.clock.Now()) ||
			!spec.AcquireTime.Time.Equal(noon) || *spec.LeaseTransitions != 0 {
			t.Errorf("renewal %d: %+v", i, spec)
		}
		p.clock.Step(10 * time.Second)
	}
	<-p.writes
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if spec := p.lease(t); *spec.HolderIdentity != "" || *spec.LeaseDurationSeconds != 1 {
		t.Errorf("left behind: %+v", spec)
	}
	if !p.NeedLeaderElection() {
		t.Error("a program that does not lead has a fence")
	}
}

func TestAProgramEndsWhenItsAPIServerWasPutBack(t *testing.T) {
	p := newPresence(t, "me", nil)
	var backup *coordinationv1.Lease
	for range 2 {
		if err := p.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if backup == nil {
			backup = p.held.DeepCopy()
		}
		p.clock.Step(10 * time.Second)
	}
	inner, ok := p.Live.(client.WithWatch)
	if !ok {
		t.Fatal("the client cannot watch")
	}
	p.Live = interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			backup.DeepCopyInto(obj.(*coordinationv1.Lease))
			return nil
		},
	})
	p.failing = errors.New("conflict")
	if err := p.renew(t.Context()); err == nil || errors.Is(err, ErrRestored) {
		t.Fatalf("a write that fails says nothing: %v", err)
	}
	if err := p.Start(t.Context()); !errors.Is(err, ErrRestored) {
		t.Errorf("it goes on: %v", err)
	}
}

func TestTheLeaseOfAProgramThatIsGoneIsTakenOver(t *testing.T) {
	before := newPresence(t, "before", nil)
	if err := before.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := newPresence(t, "after", before.Client)
	after.clock.Step(time.Minute)
	if err := after.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spec := after.lease(t); *spec.HolderIdentity != "after" || *spec.LeaseTransitions != 1 || !spec.AcquireTime.Time.Equal(noon.Add(time.Minute)) {
		t.Errorf("taken over as %+v", spec)
	}
	before.clock.Step(time.Minute)
	if err := before.renew(t.Context()); err == nil {
		t.Error("a program renews a lease that another has taken since")
	}
	if err := before.renew(t.Context()); err != nil || ptr.Deref(before.lease(t).HolderIdentity, "") != "before" {
		t.Errorf("and cannot take it back when it leads again: %v", err)
	}
}

func TestAWriteOfUnknownOutcomeIsLookedAtBeforeTheNext(t *testing.T) {
	p := newPresence(t, "me", nil)
	p.failing = errors.New("no answer")
	for range 3 { // each takes effect all the same
		p.clock.Step(time.Second)
		if err := p.renew(t.Context()); err == nil {
			t.Fatal("no error")
		}
	}
	p.failing = nil
	if err := p.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spec := p.lease(t); *spec.LeaseTransitions != 0 {
		t.Errorf("changed hands: %+v", spec)
	}
}

func TestNobodyClaimsToLookBeforeTheCachesShowAnything(t *testing.T) {
	p := newPresence(t, "me", nil)
	p.Synced = func(context.Context) bool { return false }
	if err := p.Start(t.Context()); err != nil || len(p.writes) > 0 {
		t.Errorf("%d writes, %v", len(p.writes), err)
	}
}
