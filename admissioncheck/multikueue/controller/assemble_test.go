package controller

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/orphans"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/podrequests"
)

// fakeManager is a manager as far as assembling the check needs one.
type fakeManager struct {
	ctrl.Manager

	hub client.Client
}

func (s fakeManager) GetScheme() *runtime.Scheme  { return s.hub.Scheme() }
func (s fakeManager) GetClient() client.Client    { return s.hub }
func (s fakeManager) GetCache() cache.Cache       { return nil }
func (s fakeManager) GetAPIReader() client.Reader { return s.hub }
func (s fakeManager) GetEventRecorder(string) recorder.EventRecorder {
	return events.NewFakeRecorder(1)
}

func TestThePartsOfTheCheckAreMadeAsTheSettingsSay(t *testing.T) {
	policy := dispatch.Compatible(3 * time.Minute)
	policy.LeaseDuration = 40 * time.Second
	for _, every := range []time.Duration{7 * time.Second, 0} {
		for _, inLabel := range []bool{true, false} {
			r, sweep, err := buildComponents(fakeManager{hub: newBuilder(t, testScheme(t)).Build()}, Settings{
				Origin: "mine", Policy: policy, GCInterval: every, Namespace: "elsewhere", NameInLabel: inLabel,
				PodRequestRules: podrequests.Rules{ExcludePrefixes: []string{"example.com/"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if sweep.Interval != every || sweep.Fleet != r.Fleet {
				t.Errorf("sweeps every %v, want %v", sweep.Interval, every)
			}
			if r.Origin != "mine" || r.NameInLabel != inLabel || r.Policy != policy || len(r.PodRequestRules.ExcludePrefixes) != 1 {
				t.Errorf("resolver of %q, names in labels: %t, policy %+v, demand %+v", r.Origin, r.NameInLabel, r.Policy, r.PodRequestRules)
			}
		}
	}
}

func TestTheNameOfTheWorkloadGoesWhereTheSettingsHaveIt(t *testing.T) {
	for _, inLabel := range []bool{true, false} {
		st := newTestEnv(t, "w1")
		st.reconciler.NameInLabel = inLabel // before there is anything to do
		st.submit()
		st.runOn("w1")
		remote := st.jobOn("w1")
		_, label := remote.Labels[kueue.PrebuiltWorkloadNameKey]
		_, annotation := remote.Annotations[kueue.PrebuiltWorkloadNameKey]
		if label != inLabel || annotation == inLabel {
			t.Errorf("wanted in a label: %t; in a label: %t, in an annotation: %t", inLabel, label, annotation)
		}
	}
}

func TestGarbageCollectionRunsAtItsIntervalOrNotAtAll(t *testing.T) {
	scheme := testScheme(t)
	worker := newFakeServer(t, scheme)
	orphan := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "orphan", Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
	}}
	if err := worker.Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	kinds := FleetKinds(nil, nil)
	f := fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: kinds, Dial: func(*rest.Config) (client.WithWatch, error) { return worker, nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	go func() { _ = f.Start(ctx); ended <- struct{}{} }()
	f.Connect("w1", fleet.Credentials{Config: &rest.Config{}, Fingerprint: "1"})
	waitUntil(t, "connected", func() bool { s, _ := f.State("w1"); return s.Connected })
	var sweeps atomic.Int32 // there is one Workload to be looked for
	hub := interceptor.NewClient(newBuilder(t, scheme).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			sweeps.Add(1)
			return c.Get(ctx, key, obj, o...)
		},
	})

	clock := clocktesting.NewFakeClock(time.Now())
	sweep := &orphans.GarbageCollector{Client: hub, Fleet: f, Kinds: kinds, Clock: clock}
	if err := sweep.Start(ctx); err != nil || clock.HasWaiters() {
		t.Fatalf("a sweep that is off waits, or fails: %v", err)
	}
	sweep.Interval = time.Minute
	go func() { _ = sweep.Start(ctx); ended <- struct{}{} }()
	t.Cleanup(func() { cancel(); <-ended; <-ended })
	for n := range int32(3) {
		waitUntil(t, "the sweep waits", clock.HasWaiters)
		clock.Step(59 * time.Second)
		if got := sweeps.Load(); got != n {
			t.Fatalf("%d sweeps before the time of the next, want %d", got, n)
		}
		clock.Step(time.Second)
		waitUntil(t, "a sweep", func() bool { return sweeps.Load() == n+1 })
	}
}
