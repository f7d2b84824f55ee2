package fleet

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const leaseNamespace = "kueue-system"

// leaseEnv is one session over an in-memory API server whose writes of leases answer with write, if set.
type leaseEnv struct {
	*session

	clock       *clocktesting.FakeClock
	writeErr    error
	writesApply bool // writes take effect in spite of their answer
}

func newLeaseEnv(t *testing.T) *leaseEnv {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	l := &leaseEnv{clock: clocktesting.NewFakeClock(noon)}
	answer := func(do func() error) error {
		if l.writeErr == nil || l.writesApply {
			if err := do(); err != nil {
				return err
			}
		}
		return l.writeErr
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			return answer(func() error { return c.Create(ctx, obj, o...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			return answer(func() error { return c.Update(ctx, obj, o...) })
		},
	}).Build()
	options := Options{Origin: "hub", Clock: l.clock, Lease: &LeaseOptions{}}.withDefaults()
	l.session = &session{
		name: "w1", options: options, client: c, lease: newLeaseTracker(l.clock.Now(), options.Lease), requeueAffected: func() {}, probeRequests: make(chan struct{}, 1),
	}
	return l
}

func (l *leaseEnv) renewNow(t *testing.T) Fencing {
	t.Helper()
	l.renewLease(t.Context())
	return l.lease.fencing()
}

func (l *leaseEnv) createFence(t *testing.T, renewed time.Time) {
	t.Helper()
	err := l.client.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: switchyard.FenceLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("fence"), RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: ptr.To[int32](30)},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (l *leaseEnv) storedLease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	found := &coordinationv1.Lease{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: leaseNamespace, Name: "switchyard-hub-hub"}, found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheRunLeaseSaysWhenItsRenewalBegan(t *testing.T) {
	l := newLeaseEnv(t)
	l.createFence(t, l.clock.Now())
	for range 3 {
		l.clock.Step(10 * time.Second)
		got, lease := l.renewNow(t), l.storedLease(t)
		if !got.RenewedAt.Equal(l.clock.Now()) || !lease.Spec.RenewTime.Equal(&metav1.MicroTime{Time: l.clock.Now()}) || *lease.Spec.LeaseDurationSeconds != 40 {
			t.Fatalf("renewed at %v, lease %+v", got.RenewedAt, lease.Spec)
		}
		if !got.Held || !got.FenceAlive || got.Message != "" {
			t.Fatalf("held %v, fenced %v: %q", got.Held, got.FenceAlive, got.Message)
		}
	}
}

func TestARenewalWhoseOutcomeIsUnknownCountsFromItsStart(t *testing.T) {
	l := newLeaseEnv(t)
	l.writeErr, l.writesApply = errors.New("connection reset"), true
	l.clock.Step(time.Minute)
	if got := l.renewNow(t); !got.RenewedAt.Equal(l.clock.Now()) || !got.Held {
		t.Errorf("%+v", got)
	}
}

func TestARefusedRenewalDoesNotCount(t *testing.T) {
	l := newLeaseEnv(t)
	began := l.clock.Now()
	l.writeErr = apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "x", errors.New("no"))
	l.clock.Step(time.Minute)
	if got := l.renewNow(t); !got.RenewedAt.Equal(began) || got.Held || !strings.Contains(got.Message, "forbidden") {
		t.Errorf("%+v", got)
	}
}

func TestALeaseThatIsNotRenewedForAsLongAsItLastsHasLapsed(t *testing.T) {
	for name, answer := range map[string]error{
		"refused":                         apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "x", errors.New("no")),
		"of an outcome that nobody knows": apierrors.NewInternalError(errors.New("a webhook failed")),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaseEnv(t)
			l.createFence(t, l.clock.Now())
			step := func(d time.Duration, write error, lapsed bool) {
				t.Helper()
				l.clock.Step(d)
				l.writeErr = write
				if got := l.renewNow(t); got.Expired != lapsed || got.FencePresence != FencePresent {
					t.Errorf("%v after noon: %+v", l.clock.Since(noon), got)
				}
			}
			step(time.Hour, answer, false) // the first attempt: an earlier leader may have renewed it
			step(39*time.Second, answer, false)
			step(time.Second, answer, true)
			step(time.Second, nil, false)
			step(39*time.Second, answer, false)
			step(time.Second, answer, true)
		})
	}
}

func TestARenewalAfterALongTimeIsNews(t *testing.T) {
	l := newLeaseEnv(t)
	told := 0
	l.requeueAffected = func() { told++ }
	for _, c := range []struct {
		after time.Duration
		told  int
	}{{0, 1}, {10 * time.Second, 1}, {39 * time.Second, 1}, {40 * time.Second, 2}} {
		l.clock.Step(c.after)
		if l.renewNow(t); told != c.told {
			t.Errorf("%v after the last renewal: told %d times, want %d", c.after, told, c.told)
		}
	}
}

func TestALeaseThatSomebodyElseWroteIsReadAgain(t *testing.T) {
	l := newLeaseEnv(t)
	l.renewNow(t)
	other := l.storedLease(t)
	other.Spec.HolderIdentity = ptr.To("an earlier leader")
	if err := l.client.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	l.clock.Step(10 * time.Second)
	if got := l.renewNow(t); !got.Held || !got.RenewedAt.Equal(l.clock.Now()) || *l.storedLease(t).Spec.HolderIdentity != "switchyard-hub-hub" {
		t.Errorf("%+v", got)
	}
}

func TestAFenceIsAliveAsLongAsItsLeaseAndTheClocksAgree(t *testing.T) {
	for _, c := range []struct {
		name string
		age  time.Duration
		want bool
	}{
		{"just renewed", 0, true},
		{"as old as duration and margin allow", 35 * time.Second, true},
		{"older", 36 * time.Second, false},
		{"renewed by a clock a little ahead", -5 * time.Second, true},
		{"renewed by a clock too far ahead", -6 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLeaseEnv(t)
			l.createFence(t, l.clock.Now().Add(-c.age))
			if got := l.renewNow(t); got.FenceAlive != c.want || got.FenceAlive == (got.Message != "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAFenceThatMayTakeLongerThanTheHubAllowsIsNoneToRelyOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		says   map[string]string
		margin time.Duration
		want   bool
		why    string
	}{
		{"it says nothing", nil, time.Minute, true, ""},
		{"it says nothing that can be read", stopsWithinAnnotation("soon"), time.Minute, false, `of how long it may take it says "soon"`},
		{"nor can be", stopsWithinAnnotation("-5s"), time.Minute, false, `it says "-5s"`},
		{"it says it, and leaves the rest empty", stopsWithinAnnotation(""), time.Minute, false, `it says ""`},
		{"as long as is left for it when the clocks differ", stopsWithinAnnotation("55s"), time.Minute, true, ""},
		{"longer", stopsWithinAnnotation("1m0s"), time.Minute, false, "it may take 1m0s to stop its jobs, more than the 55s"},
		{"the hub allows anything", stopsWithinAnnotation("1h0m0s"), 0, true, ""},
		{"it cannot promise anything", map[string]string{
			switchyard.StopsWithinAnnotation: "5s", switchyard.CannotStopAnnotation: "Job.batch ns/j does\x1b[31m not stop",
		}, 0, false, "no fence to rely on: Job.batch ns/j does not stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLeaseEnv(t)
			l.session.options.Lease.Margin = c.margin
			l.createFence(t, l.clock.Now())
			own := &coordinationv1.Lease{}
			if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: leaseNamespace, Name: switchyard.FenceLease}, own); err != nil {
				t.Fatal(err)
			}
			own.Annotations = c.says
			if err := l.client.Update(t.Context(), own); err != nil {
				t.Fatal(err)
			}
			if got := l.renewNow(t); got.FenceAlive != c.want || got.FenceAlive == (got.Message != "") || !strings.Contains(got.Message, c.why) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// stopsWithinAnnotation are the annotations of a fence that says so of how long it may take.
func stopsWithinAnnotation(says string) map[string]string {
	return map[string]string{switchyard.StopsWithinAnnotation: says}
}

func TestWithoutAFenceTheLeaseIsRenewedAllTheSame(t *testing.T) {
	l := newLeaseEnv(t)
	if got := l.renewNow(t); !got.Held || got.FenceAlive || got.FencePresence != FenceMissing {
		t.Errorf("%+v", got)
	}
}

func TestALeaseIsRenewedOnlyWhereNeededAndAtOnceWhenItIs(t *testing.T) {
	var wanted atomic.Bool
	w := newTestEnv(t, func(o *Options) {
		o.Lease = &LeaseOptions{RenewInterval: time.Hour, IsNeeded: func(string) bool { return wanted.Load() }}
	})
	if err := coordinationv1.AddToScheme(w.scheme); err != nil {
		t.Fatal(err)
	}
	w.servers["w1"] = w.newServer(testrestmapper.TestOnlyStaticRESTMapper(w.scheme))
	w.connect("w1")
	w.waitConnected("w1")
	if f := w.state("w1").Fencing; f.RenewalStarted {
		t.Errorf("asked for a lease that nobody wants: %+v", f)
	}
	wanted.Store(true)
	w.fleet.RequestLeaseRenewal("w1")
	w.eventually("the lease is held", func() bool { return w.state("w1").Fencing.Held })
}

func TestAttemptsToConnectDoNotRenewTheLease(t *testing.T) {
	w := newTestEnv(t, func(o *Options) {
		o.Lease = &LeaseOptions{RenewInterval: time.Millisecond}
		o.Dial = func(*rest.Config) (client.WithWatch, error) { return nil, errors.New("no route") }
	}, "w1")
	w.connect("w1")
	began := w.state("w1").Fencing.RenewedAt
	w.eventually("some attempts have failed", func() bool { return w.state("w1").Failures > 3 })
	if f := w.state("w1").Fencing; !f.RenewedAt.Equal(began) || f.RenewalStarted {
		t.Errorf("%+v", f)
	}
}
