package fleet

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

func TestAClusterIsKnownByItsSystemNamespace(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, metav1.NamespaceSystem, errors.New("no rights"))
	for name, tc := range map[string]struct {
		answer error
		uid    types.UID
		says   string
		fails  bool
	}{
		"it is read":                 {uid: "uid-1"},
		"the hub may not":            {answer: forbidden, says: "no rights"},
		"the cluster is away":        {answer: &url.Error{Op: "Get", Err: errors.New("connection refused")}, fails: true},
		"the namespace is not there": {answer: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, metav1.NamespaceSystem), says: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := corev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "uid-1"}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(system).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
					if tc.answer != nil {
						return tc.answer
					}
					return c.Get(ctx, key, obj, o...)
				},
			}).Build()
			s := &session{client: c, options: Options{}.withDefaults()}
			if err := s.readIdentity(t.Context()); (err != nil) != tc.fails {
				t.Fatalf("got %v", err)
			}
			if s.identity != tc.uid || !strings.Contains(errorText(s.identityErr), tc.says) || tc.says == "" && s.identityErr != nil {
				t.Errorf("identity %q, %v", s.identity, s.identityErr)
			}
		})
	}
}

func TestASwitchyardWorkerIsDetectedByWhatItServes(t *testing.T) {
	stock, ours := runtime.NewScheme(), runtime.NewScheme()
	for _, err := range []error{corev1.AddToScheme(stock), corev1.AddToScheme(ours), switchyard.AddToScheme(ours)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for scheme, want := range map[*runtime.Scheme]bool{stock: false, ours: true} {
		c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).Build()
		s := &session{client: c, options: Options{}.withDefaults()}
		if err := s.readIdentity(t.Context()); err != nil || s.servesSwitchyard != want {
			t.Errorf("ours: %t, want %t; %v", s.servesSwitchyard, want, err)
		}
	}
}

func TestTheLeaseOfAnotherHubIsNotRenewed(t *testing.T) {
	l := newLeaseEnv(t)
	l.options.Lease.Margin = time.Minute
	l.options.Lease.Identity = func() types.UID { return "hub-a" }
	l.renewNow(t)
	lease := l.storedLease(t)
	if got := lease.Annotations[switchyard.HubUIDAnnotation]; got != "hub-a" {
		t.Fatalf("the lease says %q", got)
	}
	lease.Annotations[switchyard.HubUIDAnnotation] = "hub-b"
	if err := l.client.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	l.clock.Step(10 * time.Second)
	f := l.renewNow(t)
	if f.Held || !strings.Contains(f.Message, "hub-b") || !strings.Contains(f.Message, "multiKueue.origin") {
		t.Errorf("got %+v, want to be told whose it is and what to change", f)
	}
	if got := l.storedLease(t); !got.Spec.RenewTime.Time.Equal(lease.Spec.RenewTime.Time) {
		t.Error("it was renewed: a fence would believe in a hub that may be away")
	}
	l.clock.SetTime(lease.Spec.RenewTime.Add(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second))
	if l.renewNow(t).Held {
		t.Error("taken over before the other hub's fence has had time to act on its end")
	}
	l.clock.Step(l.options.Lease.Margin + l.options.Lease.Skew + time.Second)
	if f := l.renewNow(t); !f.Held || l.storedLease(t).Annotations[switchyard.HubUIDAnnotation] != "hub-a" {
		t.Errorf("a lease that nobody keeps is not taken over: %+v", f)
	}
}

func TestTheLeaseOfAFormerHubIsTakenOver(t *testing.T) {
	l := newLeaseEnv(t)
	l.options.Lease.Identity = func() types.UID { return "hub-b" }
	l.renewNow(t)
	l.options.Lease.Identity = func() types.UID { return "hub-a" }
	l.lastLease = nil
	if l.renewNow(t).Held {
		t.Error("taken over though nobody has said so")
	}
	l.options.Lease.AdoptedIdentities = func() []types.UID { return []types.UID{"hub-b"} }
	if f := l.renewNow(t); !f.Held {
		t.Errorf("got %+v", f)
	}
}
