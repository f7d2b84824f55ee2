package runner

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

const ownController = "example.com/check"

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// runnerEnv is an API server with a runner whose Resolver gives the answer of the test and keeps what it was asked.
type runnerEnv struct {
	t        *testing.T
	server   client.WithWatch
	runner   *WorkloadReconciler[CheckScope]
	events   *events.FakeRecorder
	results  map[string]CheckResult
	observed []string
	passed   []string
	writes   int
	writeErr error
}

func newRunnerEnv(t *testing.T, objects ...client.Object) *runnerEnv {
	t.Helper()
	s := &runnerEnv{t: t, events: events.NewFakeRecorder(20), results: map[string]CheckResult{}}
	s.server = newServer(t, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if s.writeErr != nil {
				return s.writeErr
			}
			s.writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}, objects...)
	s.runner = &WorkloadReconciler[CheckScope]{
		Client: s.server, Recorder: s.events, Clock: testclock.NewFakePassiveClock(now),
		Resolver: Resolver[CheckScope]{Controller: ownController, Observe: s.observe, Resolve: func(o CheckScope) CheckResult { return s.results[o.Check.Name] }},
	}
	return s
}

func newServer(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).
		WithStatusSubresource(&kueue.Workload{}, &kueue.AdmissionCheck{}).
		WithIndex(&kueue.Workload{}, indexName(ownController), stateIndexValues).Build()
}

func (s *runnerEnv) observe(ctx context.Context, subject CheckScope) (CheckScope, error) {
	s.observed = append(s.observed, subject.Check.Name+" "+string(subject.Entry.State))
	others, err := subject.ListPassed(ctx)
	s.passed = nil
	for _, other := range others {
		s.passed = append(s.passed, other.Name)
	}
	return subject, err
}

func (s *runnerEnv) reconcile(name string) ctrl.Result {
	s.t.Helper()
	result, err := s.runner.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}})
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

func (s *runnerEnv) workload(name string) *kueue.Workload {
	s.t.Helper()
	wl := &kueue.Workload{}
	if err := s.server.Get(s.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, wl); err != nil {
		s.t.Fatal(err)
	}
	return wl
}

func (s *runnerEnv) drainEvents() []string {
	var list []string
	for len(s.events.Events) > 0 {
		list = append(list, <-s.events.Events)
	}
	return list
}

func newCheck(name, controller string) *kueue.AdmissionCheck {
	return &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.AdmissionCheckSpec{ControllerName: controller}}
}

// reservedWorkload is a Workload with quota and an entry for each check, given as name and state.
func reservedWorkload(name string, entries ...string) *kueue.Workload {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 1}}},
		Status: kueue.WorkloadStatus{Admission: &kueue.Admission{
			ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{{Name: "main", Count: ptr.To[int32](1)}},
		}},
	}
	setCondition(wl, kueue.WorkloadQuotaReserved, "QuotaReserved")
	for i := 0; i < len(entries); i += 2 {
		wl.Status.AdmissionChecks = append(wl.Status.AdmissionChecks, kueue.AdmissionCheckState{
			Name: kueue.AdmissionCheckReference(entries[i]), State: kueue.CheckState(entries[i+1]),
			LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
		})
	}
	return wl
}

func setCondition(wl *kueue.Workload, kind, reason string) {
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
	})
}

func TestAReadyResultAdmitsInTheSameWriteWhenItIsTheLast(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), reservedWorkload("wl", "a", "Pending"))
	marks := []kueue.PodSetUpdate{{Name: "main", Labels: map[string]string{"k": "v"}}}
	s.results["a"] = CheckResult{State: kueue.CheckStateReady, Message: "go", PodSetUpdates: marks}
	s.reconcile("wl")

	wl := s.workload("wl")
	want := kueue.AdmissionCheckState{
		Name: "a", State: kueue.CheckStateReady, Message: "go", PodSetUpdates: marks, LastTransitionTime: metav1.NewTime(now),
	}
	if diff := cmp.Diff(&want, workload.FindAdmissionCheck(wl, "a")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !workload.IsAdmitted(wl) || s.writes != 1 {
		t.Errorf("admitted %v with %d writes", workload.IsAdmitted(wl), s.writes)
	}
	told := s.drainEvents()
	if len(told) != 2 || told[0] != "Normal AdmissionCheckUpdated Admission check a updated state from Pending to Ready with message go" {
		t.Errorf("told %q", told)
	}
}

func TestARetryCarriesItsDelayInWholeSeconds(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), reservedWorkload("wl", "a", "Pending"))
	s.results["a"] = CheckResult{State: kueue.CheckStateRetry, Message: "later", RequeueAfter: 1500 * time.Millisecond}
	s.reconcile("wl")
	entry := workload.FindAdmissionCheck(s.workload("wl"), "a")
	if entry.State != kueue.CheckStateRetry || ptr.Deref(entry.RequeueAfterSeconds, 0) != 2 {
		t.Errorf("got %+v", entry)
	}
}

func TestAPendingResultWritesNothingAndIsRecheckedInTime(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), reservedWorkload("wl", "a", "Pending"))
	s.results["a"] = CheckResult{State: kueue.CheckStatePending, Message: "still looking", RecheckAt: now.Add(3 * time.Second)}
	if got := s.reconcile("wl"); got.RequeueAfter != 3*time.Second || s.writes != 0 {
		t.Errorf("result %+v, %d writes", got, s.writes)
	}
}

func TestOnlyOwnEntriesAreAskedAboutAndWritten(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), newCheck("b", "somebody.else/check"), newCheck("c", ownController),
		reservedWorkload("wl", "a", "Pending", "b", "Pending", "c", "Ready", "gone", "Pending"))
	s.results["a"] = CheckResult{State: kueue.CheckStateReady}
	s.results["c"] = CheckResult{State: kueue.CheckStateReady}
	before := s.workload("wl")
	s.reconcile("wl")
	if diff := cmp.Diff([]string{"a Pending", "c Ready"}, s.observed); diff != "" {
		t.Errorf("asked -want +got:\n%s", diff)
	}
	after := s.workload("wl")
	for _, name := range []kueue.AdmissionCheckReference{"b", "c", "gone"} {
		if diff := cmp.Diff(workload.FindAdmissionCheck(before, name), workload.FindAdmissionCheck(after, name)); diff != "" {
			t.Errorf("entry %s: -before +after:\n%s", name, diff)
		}
	}
	if workload.IsAdmitted(after) {
		t.Error("admitted although others' checks are pending")
	}
}

func TestNobodyAsksForAWorkloadThatNoCheckHasASayAbout(t *testing.T) {
	for name, change := range map[string]func(*kueue.Workload){
		"without quota":     func(wl *kueue.Workload) { wl.Status.Admission, wl.Status.Conditions = nil, nil },
		"evicted":           func(wl *kueue.Workload) { setCondition(wl, kueue.WorkloadEvicted, "Preempted") },
		"finished":          func(wl *kueue.Workload) { setCondition(wl, kueue.WorkloadFinished, "Succeeded") },
		"deactivated":       func(wl *kueue.Workload) { wl.Spec.Active = ptr.To(false) },
		"sent back already": func(wl *kueue.Workload) { wl.Status.AdmissionChecks[0].State = kueue.CheckStateRetry },
		"refused for good":  func(wl *kueue.Workload) { wl.Status.AdmissionChecks[0].State = kueue.CheckStateRejected },
		"without entry":     func(wl *kueue.Workload) { wl.Status.AdmissionChecks = nil },
		"that is being deleted": func(wl *kueue.Workload) {
			wl.Finalizers, wl.DeletionTimestamp = []string{kueue.ResourceInUseFinalizer}, ptr.To(metav1.NewTime(now))
		},
	} {
		t.Run(name, func(t *testing.T) {
			wl := reservedWorkload("wl", "a", "Pending")
			change(wl)
			s := newRunnerEnv(t, newCheck("a", ownController), wl)
			s.reconcile("wl")
			if len(s.observed) > 0 || s.writes > 0 {
				t.Errorf("asked %q, wrote %d times", s.observed, s.writes)
			}
		})
	}
}

func TestWhoPassedIsTheOthersThatHoldQuotaByName(t *testing.T) {
	evicted := reservedWorkload("evicted", "a", "Ready")
	setCondition(evicted, kueue.WorkloadEvicted, "Preempted")
	elsewhere := reservedWorkload("elsewhere", "a", "Ready")
	elsewhere.Namespace = "other"
	s := newRunnerEnv(t, newCheck("a", ownController), newCheck("a2", ownController), newCheck("b", "somebody.else/check"), evicted, elsewhere,
		reservedWorkload("wl", "a", "Pending", "a2", "Ready"), reservedWorkload("two", "a2", "Ready"), reservedWorkload("one", "a", "Ready"),
		reservedWorkload("waits", "a", "Pending"), reservedWorkload("foreign", "b", "Ready"))
	s.reconcile("wl")
	if diff := cmp.Diff([]string{"one", "two"}, s.passed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// staleCache is a cache that shows Workloads as they were.
type staleCache struct {
	client.Client
	snapshot client.Client
}

func (l *staleCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*kueue.Workload); ok {
		return l.snapshot.Get(ctx, key, o, opts...)
	}
	return l.Client.Get(ctx, key, o, opts...)
}

func (l *staleCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*kueue.WorkloadList); ok {
		return l.snapshot.List(ctx, list, opts...)
	}
	return l.Client.List(ctx, list, opts...)
}

// freezeCache freezes what the runner's cache shows of Workloads.
func (s *runnerEnv) freezeCache() {
	s.t.Helper()
	list := &kueue.WorkloadList{}
	if err := s.server.List(s.t.Context(), list); err != nil {
		s.t.Fatal(err)
	}
	var objects []client.Object
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	s.runner.Client = &staleCache{Client: s.server, snapshot: newServer(s.t, interceptor.Funcs{}, objects...)}
}

func TestAPassedWorkloadCountsBeforeTheCacheShowsIt(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), reservedWorkload("first", "a", "Pending"), reservedWorkload("second", "a", "Pending"))
	s.results["a"] = CheckResult{State: kueue.CheckStateReady}
	s.freezeCache()
	s.reconcile("first")
	s.reconcile("second")
	if !slices.Equal(s.passed, []string{"first"}) {
		t.Errorf("the second saw %q pass, want the first", s.passed)
	}
	asked := len(s.observed)
	s.reconcile("first")
	if len(s.observed) != asked {
		t.Error("asked again about what was just written")
	}
	s.runner.Client = s.server
	s.reconcile("first")
	if len(s.observed) != asked+1 || !slices.Equal(s.passed, []string{"second"}) {
		t.Errorf("when the cache has caught up: asked %q, passed %q", s.observed, s.passed)
	}
	if s.runner.recentWrites.Len() != 0 {
		t.Errorf("still remembers %d workloads", s.runner.recentWrites.Len())
	}
}

func TestWhatIsDeletedIsForgotten(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), reservedWorkload("first", "a", "Pending"), reservedWorkload("second", "a", "Pending"))
	s.results["a"] = CheckResult{State: kueue.CheckStateReady}
	s.reconcile("first")
	if err := s.server.Delete(t.Context(), s.workload("first")); err != nil {
		t.Fatal(err)
	}
	s.reconcile("second")
	if len(s.passed) != 0 {
		t.Errorf("passed %q", s.passed)
	}
	if s.runner.recentWrites.Len() != 1 {
		t.Errorf("remembers %d workloads, want the second only", s.runner.recentWrites.Len())
	}
}

// An etcd that was restored from a backup shows versions older than that of our write, for ever.
func TestACachedWriteIsForgottenWhenNoCacheShowsIt(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), reservedWorkload("first", "a", "Pending"), reservedWorkload("second", "a", "Pending"))
	undone := s.workload("first")
	undone.ResourceVersion = "1000000"
	s.runner.recentWrites.Record(undone, undone, now)
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "first"}}
	result, err := s.runner.Reconcile(t.Context(), request)
	if err != nil || len(s.observed) > 0 || result.RequeueAfter != kube.MaxCacheLag {
		t.Fatalf("asked %q, then %+v, %v; want to look again later", s.observed, result, err)
	}
	s.runner.Clock = testclock.NewFakePassiveClock(now.Add(kube.MaxCacheLag + time.Second))
	s.reconcile("first")
	if !slices.Equal(s.observed, []string{"a Pending"}) || s.runner.recentWrites.Len() != 1 {
		t.Errorf("asked %q, remembers %d", s.observed, s.runner.recentWrites.Len())
	}
}

func TestAFailedWritePromisesNothingAndTellsNothing(t *testing.T) {
	s := newRunnerEnv(t, newCheck("a", ownController), reservedWorkload("wl", "a", "Pending"))
	s.results["a"] = CheckResult{State: kueue.CheckStateReady}
	s.writeErr = errors.New("connection refused")
	_, err := s.runner.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "wl"}})
	if !errors.Is(err, s.writeErr) {
		t.Errorf("got %v", err)
	}
	if told := s.drainEvents(); len(told) > 0 || s.runner.recentWrites.Len() > 0 {
		t.Errorf("told %q, remembers %d", told, s.runner.recentWrites.Len())
	}
}

func TestAChangeRequeuesThePendingWorkloadsOfItsNamespace(t *testing.T) {
	elsewhere := reservedWorkload("elsewhere", "a", "Pending")
	elsewhere.Namespace = "other"
	s := newRunnerEnv(t, newCheck("a", ownController), newCheck("b", "somebody.else/check"), elsewhere,
		reservedWorkload("waits", "a", "Pending"), reservedWorkload("passed", "a", "Ready"), reservedWorkload("foreign", "b", "Pending"))
	woken := func(requests []reconcile.Request) []string {
		var names []string
		for _, r := range requests {
			names = append(names, r.String())
		}
		slices.Sort(names)
		return names
	}
	changed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "any"}}
	if diff := cmp.Diff([]string{"ns/waits"}, woken(s.runner.requestsInNamespace(t.Context(), changed))); diff != "" {
		t.Errorf("a change in the namespace: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ns/waits", "other/elsewhere"}, woken(s.runner.requestsForCheck(t.Context(), newCheck("a", ownController)))); diff != "" {
		t.Errorf("a change of the check: -want +got:\n%s", diff)
	}
}
