package guard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/workload"
)

const namespace = "system"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// site is a guard in a world with an API server.
type site struct {
	*Reconciler
	events *events.FakeRecorder
	clock  *testclock.FakeClock
	// refuse makes writes of the Workload of that name fail.
	refuse map[string]error
}

func newSite(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{events: events.NewFakeRecorder(100), clock: testclock.NewFakeClock(noon), refuse: map[string]error{}}
	patch := func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		if err := s.refuse[o.GetName()]; err != nil {
			return err
		}
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}
	c := fake.NewClientBuilder().WithScheme(known(t)).WithObjects(objects...).WithStatusSubresource(&kueue.Workload{}).
		WithIndex(&kueue.Workload{}, leaseIndex, leaseIndexValues).WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: patch}).Build()
	s.Reconciler = &Reconciler{Client: c, Live: c, Recorder: s.events, Clock: s.clock, Metrics: metrics}
	return s
}

func known(t *testing.T) *runtime.Scheme {
	t.Helper()
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme} {
		if err := add(all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (s *site) look(t *testing.T, origin string) (ctrl.Result, error) {
	t.Helper()
	return s.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: fence.LeaseName(origin)}})
}

// mustLook is look without an error.
func (s *site) mustLook(t *testing.T, origin string) ctrl.Result {
	t.Helper()
	result, err := s.look(t, origin)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// stopped are the names of the Workloads that were asked to go, sorted.
func (s *site) stopped(t *testing.T) []string {
	t.Helper()
	var list kueue.WorkloadList
	if err := s.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		c := meta.FindStatusCondition(list.Items[i].Status.Conditions, kueue.WorkloadDeactivationTarget)
		if c != nil && c.Status == metav1.ConditionTrue && c.Reason == "HubLost" {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// lease is that of a hub, renewed so long before noon, and holds 40 s.
func lease(origin string, before time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fence.LeaseName(origin)},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("hub"), RenewTime: ptr.To(metav1.NewMicroTime(noon.Add(-before))), LeaseDurationSeconds: ptr.To[int32](40),
		},
	}
}

// wl is a running Workload of the hub "eu", stamped Stop, changed as told.
func wl(name string, changes ...func(*kueue.Workload)) *kueue.Workload {
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{kueue.MultiKueueOriginLabel: "eu"},
		Annotations: map[string]string{switchyard.OnHubLostAnnotation: string(switchyard.Stop)},
	}}
	workload.ReserveQuota(w, &kueue.Admission{ClusterQueue: "cq"}, nil, "reserved", noon.Add(-time.Hour))
	for _, change := range changes {
		change(w)
	}
	return w
}

func TestOnlyJobsOfTheLostHubThatAreStampedStopAreStopped(t *testing.T) {
	stamp := func(value string) func(*kueue.Workload) {
		return func(w *kueue.Workload) { w.Annotations[switchyard.OnHubLostAnnotation] = value }
	}
	s := newSite(t, lease("eu", 40*time.Second), lease("us", 39*time.Second),
		wl("running"),
		wl("waiting", func(w *kueue.Workload) { w.Status = kueue.WorkloadStatus{} }),
		wl("kept", stamp(string(switchyard.KeepRunning))),
		wl("mistyped", stamp("stop")),
		wl("unstamped", func(w *kueue.Workload) { w.Annotations = nil }),
		wl("finished", func(w *kueue.Workload) { workload.Finish(w, kueue.ReasonSucceeded, "", noon) }),
		wl("inactive", func(w *kueue.Workload) { w.Spec.Active = ptr.To(false) }),
		wl("local", func(w *kueue.Workload) { w.Labels = nil }),
		wl("other", func(w *kueue.Workload) { w.Labels[kueue.MultiKueueOriginLabel] = "us" }),
	)
	s.mustLook(t, "us")
	if got := s.stopped(t); len(got) > 0 {
		t.Errorf("stops %v while the lease holds", got)
	}
	s.mustLook(t, "eu")
	if diff := cmp.Diff([]string{"running", "waiting"}, s.stopped(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if told := <-s.events.Events; !strings.HasPrefix(told, `Warning HubLost The hub "eu" has not renewed its run lease`) || len(s.events.Events) != 1 {
		t.Errorf("told %q, and %d more", told, len(s.events.Events))
	}
	if got := testutil.ToFloat64(s.Metrics.stopped.WithLabelValues("switchyard-hub-eu", "RanOut")); got != 2 {
		t.Errorf("counts %v", got)
	}
	if eu, us := s.shows("eu"), s.shows("us"); eu != 0 || us != 1 {
		t.Errorf("shows %v and %v", eu, us)
	}
}

func (s *site) shows(origin string) float64 {
	return testutil.ToFloat64(s.Metrics.holds.WithLabelValues(fence.LeaseName(origin)))
}

func TestTheGuardSleepsUntilTheLeaseCouldRunOutAndStopsThen(t *testing.T) {
	s := newSite(t, lease("eu", 37*time.Second), wl("running"))
	if result := s.mustLook(t, "eu"); result.RequeueAfter != 3*time.Second {
		t.Errorf("looks again after %v", result.RequeueAfter)
	}
	s.clock.Step(3 * time.Second)
	s.mustLook(t, "eu")
	if got := s.stopped(t); len(got) != 1 {
		t.Errorf("stopped %v", got)
	}
	if result := s.mustLook(t, "eu"); result.RequeueAfter != 0 {
		t.Errorf("looks again after %v though all is done", result.RequeueAfter)
	}
}

func TestALeaseThatWasNeverWrittenIsWaitedForOnce(t *testing.T) {
	s := newSite(t, wl("running"))
	s.mustLook(t, "eu")
	s.clock.Step(39 * time.Second)
	s.mustLook(t, "eu")
	if got := s.stopped(t); len(got) > 0 {
		t.Errorf("stops %v at once", got)
	}
	s.clock.Step(time.Second)
	s.mustLook(t, "eu")
	s.mustLook(t, "eu")
	if got := s.stopped(t); len(got) != 1 {
		t.Errorf("stopped %v", got)
	}
	if len(s.memory.states) > 0 || testutil.CollectAndCount(s.Metrics.holds) > 0 {
		t.Errorf("remembers %v for ever", s.memory.states)
	}
}

func TestARenewalInTimeKeepsJobsGoingAndALateOneThoseThatComeAfter(t *testing.T) {
	s := newSite(t, lease("eu", 0), wl("running"))
	renew := func() {
		next := &coordinationv1.Lease{}
		if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(lease("eu", 0)), next); err != nil {
			t.Fatal(err)
		}
		next.Spec.RenewTime = ptr.To(metav1.NewMicroTime(s.clock.Now()))
		if err := s.Client.Update(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		s.mustLook(t, "eu")
		s.clock.Step(30 * time.Second)
		renew()
	}
	if got := s.stopped(t); len(got) > 0 {
		t.Errorf("stops %v of a hub that is there", got)
	}
	s.clock.Step(40 * time.Second)
	s.mustLook(t, "eu")
	renew()
	if err := s.Client.Create(t.Context(), wl("late")); err != nil {
		t.Fatal(err)
	}
	s.mustLook(t, "eu")
	if diff := cmp.Diff([]string{"running"}, s.stopped(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAJobThatCannotBeStoppedHoldsUpNoOther(t *testing.T) {
	s := newSite(t, lease("eu", time.Minute), wl("a"), wl("b"), wl("c"))
	s.refuse["a"] = apierrors.NewConflict(kueue.Resource("workloads"), "a", nil)
	s.refuse["b"] = errors.New("out of order")
	if _, err := s.look(t, "eu"); err == nil || !strings.Contains(err.Error(), "out of order") || strings.Contains(err.Error(), "onflict") {
		t.Errorf("returns %v", err)
	}
	if diff := cmp.Diff([]string{"c"}, s.stopped(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	delete(s.refuse, "b")
	if result := s.mustLook(t, "eu"); result.RequeueAfter != fence.CheckInterval {
		t.Errorf("looks again after %v", result.RequeueAfter)
	}
	delete(s.refuse, "a")
	s.mustLook(t, "eu")
	if diff := cmp.Diff([]string{"a", "b", "c"}, s.stopped(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(s.events.Events) != 3 {
		t.Errorf("%d events", len(s.events.Events))
	}
}

func TestACacheThatIsBehindStopsNobody(t *testing.T) {
	behind, live := newSite(t, lease("eu", time.Minute), wl("new")), newSite(t, lease("eu", 10*time.Second))
	behind.Live = live.Client
	if result := behind.mustLook(t, "eu"); len(behind.stopped(t)) > 0 || result.RequeueAfter != fence.CheckInterval {
		t.Errorf("stopped %v, looks again after %v", behind.stopped(t), result.RequeueAfter)
	}
	behind.Live = interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewTimeoutError("no answer", 1)
		},
	})
	behind.clock.Step(time.Minute)
	behind.mustLook(t, "eu")
	if got := behind.stopped(t); len(got) != 1 {
		t.Errorf("without an answer %v is stopped", got)
	}
}

func TestTheLifecycleEvictsWhatWasStopped(t *testing.T) {
	s := newSite(t, lease("eu", time.Minute), wl("running"))
	s.mustLook(t, "eu")
	got := &kueue.Workload{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "running"}, got); err != nil {
		t.Fatal(err)
	}
	plan := lifecycle.Step(workload.State(got), lifecycle.Observation{Now: noon, Owned: true})
	if !plan.Deactivate {
		t.Fatalf("it is not deactivated: %+v", plan)
	}
	got.Spec.Active = ptr.To(false)
	plan = lifecycle.Step(workload.State(got), lifecycle.Observation{Now: noon, Owned: true})
	if evicted, _ := plan.Next.Condition(lifecycle.Evicted); evicted.Reason != "DeactivatedDueToHubLost" || plan.Next.Reservation == nil {
		t.Errorf("evicted %+v", evicted)
	}
}

func TestLeasesOfOthersAreNoneOfTheFencesBusiness(t *testing.T) {
	for name, want := range map[string]bool{"switchyard-hub-eu": true, "switchyard-fence": false, "leader": false} {
		if got := isHubLease(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := fence.LeaseName("x"); got != switchyard.HubLeasePrefix+"x" {
		t.Errorf("the API and the fence have other names: %s", got)
	}
	requests := dependsOn(namespace)(t.Context(), wl("running"))
	if len(requests) != 1 || requests[0].Name != "switchyard-hub-eu" || requests[0].Namespace != namespace {
		t.Errorf("looks at %v", requests)
	}
}
