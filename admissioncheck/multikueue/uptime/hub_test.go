package uptime

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/kube/polltest"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const hubUID = "uid-of-the-hub"

// systemNamespaceObject is the namespace by which a cluster is known.
func systemNamespaceObject(uid string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace, UID: types.UID(uid)}}
}

// newServer returns a builder of an API server in memory.
func newServer(t *testing.T) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme)
}

func newHub(t *testing.T, server client.WithWatch) (*Hub, *testclock.FakeClock) {
	t.Helper()
	now := testclock.NewFakeClock(noon)
	return &Hub{APIReader: server, Client: server, Namespace: "kueue-system", Clock: now}, now
}

func readUptimeLease(t *testing.T, server client.Client) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "kueue-system", Name: switchyard.UptimeLease}, lease); err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestAHubKnowsItselfAndRecordsThatItRuns(t *testing.T) {
	server := newServer(t).WithObjects(systemNamespaceObject(hubUID)).Build()
	h, now := newHub(t, server)
	if h.Identity() != "" {
		t.Error("it knows before it has asked")
	}
	if err := errors.Join(h.EnsureRegistered(t.Context()), h.EnsureRegistered(t.Context())); err != nil {
		t.Fatal(err)
	}
	if h.Identity() != hubUID || !h.IsUnrecorded(noon.Add(-24*time.Hour)) {
		t.Errorf("identity %q, record %+v", h.Identity(), h.uptime)
	}
	now.Step(time.Hour)
	if err := errors.Join(h.renewUptime(t.Context()), h.VerifyNotRestored(t.Context())); err != nil {
		t.Fatal(err)
	}
	if lease := readUptimeLease(t, server); !lease.Spec.RenewTime.Time.Equal(now.Now()) {
		t.Errorf("on record until %v", lease.Spec.RenewTime)
	}
	now.Step(time.Hour)
	next := &Hub{APIReader: server, Client: server, Namespace: "kueue-system", Clock: now}
	if err := next.EnsureRegistered(t.Context()); err != nil {
		t.Fatal(err)
	}
	if next.IsUnrecorded(noon.Add(30*time.Minute)) || !next.IsUnrecorded(noon.Add(90*time.Minute)) {
		t.Errorf("the next program reads %+v", next.uptime)
	}
}

func TestAnAPIServerThatWasPutBackEndsTheProgram(t *testing.T) {
	for name, put := range map[string]func(c client.Client, before *coordinationv1.Lease) error{
		"an older record": func(c client.Client, before *coordinationv1.Lease) error {
			before.ResourceVersion = ""
			return errors.Join(c.Delete(context.Background(), before.DeepCopy()), c.Create(context.Background(), before))
		},
		"no record": func(c client.Client, before *coordinationv1.Lease) error {
			return c.Delete(context.Background(), before)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t).WithObjects(systemNamespaceObject(hubUID)).Build()
			h, now := newHub(t, server)
			if err := h.EnsureRegistered(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := readUptimeLease(t, server)
			now.Step(time.Minute)
			if err := errors.Join(h.renewUptime(t.Context()), put(server, before)); err != nil {
				t.Fatal(err)
			}
			if err := h.VerifyNotRestored(t.Context()); !errors.Is(err, ErrRestored) {
				t.Errorf("a removal is not stopped: %v", err)
			}
			ended := make(chan error, 1)
			go func() { ended <- h.Start(t.Context()) }()
			if !polltest.Holds(t, now.HasWaiters) {
				t.Fatal("it never waits")
			}
			now.Step(uptimeInterval)
			if err := <-ended; !errors.Is(err, ErrRestored) {
				t.Errorf("the program goes on: %v", err)
			}
			if err := h.EnsureRegistered(t.Context()); !errors.Is(err, ErrRestored) {
				t.Errorf("it dispatches: %v", err)
			}
		})
	}
}

func TestAHubThatMayNotAskWhoItIsDispatchesNothing(t *testing.T) {
	server := newServer(t).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, systemNamespace, errors.New("no rights"))
		},
	}).Build()
	h, _ := newHub(t, server)
	if err := h.EnsureRegistered(t.Context()); err == nil || h.Identity() != "" {
		t.Errorf("got %v", err)
	}
}
