package resourcequota

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/runner"
	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/amount"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fakeCluster is an API server that counts what is read from it live.
type fakeCluster struct {
	client.WithWatch
	reads []string
}

// newFakeCluster plays an API server. The in-memory one knows no inequality of fields, which is done here.
func newFakeCluster(t *testing.T, objects ...client.Object) *fakeCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kueue.AddToScheme, corev1.AddToScheme, nodev1.AddToScheme, schedulingv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &fakeCluster{}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{List: c.list}).Build()
	return c
}

func (c *fakeCluster) list(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	partial, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok {
		if _, ok := list.(*corev1.ResourceQuotaList); ok {
			c.reads = append(c.reads, "quotas")
		}
		return inner.List(ctx, list, opts...)
	}
	c.reads = append(c.reads, "pods")
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	alive := o.FieldSelector
	o.FieldSelector = nil
	pods := &corev1.PodList{}
	if err := inner.List(ctx, pods, &o); err != nil {
		return err
	}
	for i := range pods.Items {
		if alive.Matches(fields.Set{"status.phase": string(pods.Items[i].Status.Phase)}) {
			partial.Items = append(partial.Items, metav1.PartialObjectMetadata{ObjectMeta: pods.Items[i].ObjectMeta})
		}
	}
	return nil
}

func (c *fakeCluster) GetClient() client.Client { return c }

func (c *fakeCluster) GetAPIReader() client.Reader { return c }

// decide asks about a Workload beside others that were let pass.
func (c *fakeCluster) decide(t *testing.T, wl *kueue.Workload, passed ...*kueue.Workload) runner.CheckResult {
	t.Helper()
	return c.decideWith(t, Reader{Cached: c, Live: c}, wl, passed...)
}

// decideWith is ask with a reader of its own.
func (c *fakeCluster) decideWith(t *testing.T, reader Reader, wl *kueue.Workload, passed ...*kueue.Workload) runner.CheckResult {
	t.Helper()
	r := Resolver(reader)
	o, err := r.Observe(t.Context(), runner.CheckScope{
		Workload: wl, Entry: kueue.AdmissionCheckState{Name: "check", State: kueue.CheckStatePending}, Now: now,
		ListPassed: func(context.Context) ([]*kueue.Workload, error) { return passed, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Resolve(o)
}

func newQuota(name string, hard, used corev1.ResourceList) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
		Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	}
}

// reservedWorkload is a Workload of so many pods of one cpu, whose quota was reserved a minute ago.
func reservedWorkload(name string, pods int32) *kueue.Workload {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: pods, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{container(quantities("cpu", "1"), nil)}},
		}}}},
		Status: kueue.WorkloadStatus{Admission: &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{{Name: "main"}}}},
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
	})
	return wl
}

func newPod(name string, of *kueue.Workload, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{
			ClaimLabel: string(of.UID), kueue.PodSetLabel: "main",
		}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

func TestANamespaceWithoutQuotaCostsOneRead(t *testing.T) {
	c := newFakeCluster(t)
	answer := c.decide(t, reservedWorkload("wl", 3), reservedWorkload("other", 3))
	want := runner.CheckResult{
		State: kueue.CheckStateReady, Message: "No ResourceQuota restricts the workload",
		PodSetUpdates: []kueue.PodSetUpdate{{Name: "main", Labels: map[string]string{ClaimLabel: "uid-wl"}}},
	}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"quotas"}, c.reads); diff != "" {
		t.Errorf("reads -want +got:\n%s", diff)
	}
}

func TestPodsAreListedOnlyWhenClaimsExceedTheQuotaAndQuotasAreReadAfterThem(t *testing.T) {
	first := reservedWorkload("first", 1)
	wide := newFakeCluster(t, newQuota("q", quantities("pods", "3"), quantities("pods", "1")), newPod("p", first, corev1.PodRunning))
	if answer := wide.decide(t, reservedWorkload("wl", 1), first); answer.State != kueue.CheckStateReady {
		t.Errorf("got %+v", answer)
	}
	if diff := cmp.Diff([]string{"quotas"}, wide.reads); diff != "" {
		t.Errorf("with room for everything: reads -want +got:\n%s", diff)
	}
	narrow := newFakeCluster(t, newQuota("q", quantities("pods", "2"), quantities("pods", "1")), newPod("p", first, corev1.PodRunning))
	if answer := narrow.decide(t, reservedWorkload("wl", 1), first); answer.State != kueue.CheckStateReady {
		t.Errorf("the pod that exists was counted twice: %+v", answer)
	}
	if diff := cmp.Diff([]string{"quotas", "pods", "quotas"}, narrow.reads); diff != "" {
		t.Errorf("with room for what is missing: reads -want +got:\n%s", diff)
	}
}

func TestWhatIsPromisedToOthersCountsOnce(t *testing.T) {
	first, other := reservedWorkload("first", 2), reservedWorkload("other", 1)
	for _, c := range []struct {
		name string
		pods []client.Object
		used string
		want kueue.CheckState
	}{
		{"none of the two promised pods exists", nil, "0", kueue.CheckStateReady},
		{"one exists", []client.Object{newPod("p1", first, corev1.PodRunning)}, "1", kueue.CheckStateReady},
		{
			"one has ended and may be made again",
			[]client.Object{newPod("p1", first, corev1.PodRunning), newPod("p2", first, corev1.PodFailed)}, "1", kueue.CheckStateReady,
		},
		{"both exist", []client.Object{newPod("p1", first, corev1.PodRunning), newPod("p2", first, corev1.PodPending)}, "2", kueue.CheckStateReady},
		{
			"somebody else's pod does not keep the promise",
			[]client.Object{newPod("p1", other, corev1.PodRunning), newPod("p2", first, corev1.PodPending)}, "2", kueue.CheckStateRetry,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newFakeCluster(t, append(c.pods, newQuota("q", quantities("pods", "3"), quantities("pods", c.used)))...)
			if got := cluster.decide(t, reservedWorkload("wl", 1), first).State; got != c.want {
				t.Errorf("one pod beside two promised ones: %s, want %s", got, c.want)
			}
			if got := cluster.decide(t, reservedWorkload("wl", 2), first).State; got != kueue.CheckStateRetry {
				t.Errorf("two pods beside two promised ones: %s, want Retry", got)
			}
		})
	}
}

func TestTheAnswerExplainsItself(t *testing.T) {
	c := newFakeCluster(t, newQuota("team", quantities("requests.cpu", "4"), quantities("requests.cpu", "2500m")))
	wl := reservedWorkload("wl", 2)
	want := runner.CheckResult{
		State: kueue.CheckStateRetry, RequeueAfter: 10 * time.Second, Message: `ResourceQuota "team" has no room: ` +
			`requests.cpu asked 2, used 2500m, promised to workloads that start 0, hard 4`,
		PodSetUpdates: nil,
	}
	if diff := cmp.Diff(want, c.decide(t, wl)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatWasLetPassStaysSoWithoutAnyRead(t *testing.T) {
	c := newFakeCluster(t, newQuota("q", quantities("pods", "0"), quantities("pods", "0")))
	r := Resolver(Reader{Cached: c, Live: c})
	o, err := r.Observe(t.Context(), runner.CheckScope{
		Workload: reservedWorkload("wl", 1), Entry: kueue.AdmissionCheckState{Name: "check", State: kueue.CheckStateReady}, Now: now,
	})
	if err != nil || r.Resolve(o).State != kueue.CheckStateReady || len(c.reads) > 0 {
		t.Errorf("answer %+v, error %v, reads %q", r.Resolve(o), err, c.reads)
	}
}

func TestOnlyPodsThatMayStillBeAreClaimed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*kueue.Workload)
		want   int32
	}{
		{"all of them", func(*kueue.Workload) {}, 5},
		{"those that were admitted", func(wl *kueue.Workload) { wl.Status.Admission.PodSetAssignments[0].Count = ptr.To[int32](3) }, 3},
		{"those that are still needed", func(wl *kueue.Workload) {
			wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 4}}
		}, 1},
		{"never less than none", func(wl *kueue.Workload) {
			wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 9}}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			wl := reservedWorkload("wl", 5)
			c.change(wl)
			if got := (podDefaults{}).claimedPods(wl, &wl.Spec.PodSets[0]); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// With the gate off, what a status says of pods that are not needed any more counts neither for requests nor for
// reservations.
func TestPodsThatWereGivenBackAreClaimedWhileTheGateIsOff(t *testing.T) {
	givenBack := func(name string, pods, gone int32) *kueue.Workload {
		wl := reservedWorkload(name, pods)
		wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: gone}}
		return wl
	}
	for _, c := range []struct {
		name      string
		wl, first *kueue.Workload
	}{
		{"asked", givenBack("wl", 3, 2), reservedWorkload("first", 1)},
		{"promised", reservedWorkload("wl", 1), givenBack("first", 3, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			for on, want := range map[bool]kueue.CheckState{true: kueue.CheckStateReady, false: kueue.CheckStateRetry} {
				gates, err := features.New(map[string]bool{string(features.ReclaimablePods): on})
				if err != nil {
					t.Fatal(err)
				}
				cluster := newFakeCluster(t, newQuota("q", quantities("pods", "3"), quantities("pods", "0")))
				if got := cluster.decideWith(t, ReaderFor(cluster, gates), c.wl, c.first).State; got != want {
					t.Errorf("with the gate on (%v): %s, want %s", on, got, want)
				}
			}
		})
	}
}

func TestAJobIsClaimedOnlyByACopyThatComesBeforeIt(t *testing.T) {
	for _, c := range []struct {
		name, workload string
		copied, owned  bool
		want           bool
	}{
		{"a Workload made from its Job", "job-a-12345", false, true, false},
		{"a copy from a hub whose Job is to come", "job-a-12345", true, false, true},
		{"a copy whose Job has come", "job-a-12345", true, true, false},
		{"a copy for another kind", "jobset-a-12345", true, false, false},
		{"a Workload of nobody", "job-a", false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			wl := reservedWorkload(c.workload, 1)
			if c.copied {
				wl.Labels = map[string]string{kueue.MultiKueueOriginLabel: "hub"}
			}
			if c.owned {
				wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "a", UID: "u"}}
			}
			count, found := podDefaults{}.buildClaim(wl).Objects.Lookup("count/jobs.batch")
			if found != c.want || found && count != 1 {
				t.Errorf("claims %d (%v), want %v", count, found, c.want)
			}
		})
	}
}

func TestPodsWithoutClassAreOfTheDefaultOne(t *testing.T) {
	class := func(name string, value int32, byDefault bool) client.Object {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: byDefault}
	}
	q := newQuota("q", quantities("pods", "0"), quantities("pods", "0"))
	q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"low"}},
	}}
	c := newFakeCluster(t, q, class("low", 1, true), class("high", 9, true), class("none", 0, false))
	if got := c.decide(t, reservedWorkload("wl", 1)).State; got != kueue.CheckStateRetry {
		t.Errorf("a pod of the default class: %s", got)
	}
	wl := reservedWorkload("wl", 1)
	wl.Spec.PodSets[0].Template.Spec.PriorityClassName = "high"
	if got := c.decide(t, wl).State; got != kueue.CheckStateReady {
		t.Errorf("a pod of another class: %s", got)
	}
}

func TestAQuotaIsEnforcedByItsStatusWhereThatIsLower(t *testing.T) {
	q := newQuota("q", quantities("pods", "9", "services", "1"), nil)
	q.Status.Hard = quantities("pods", "4")
	q.Status.Used = quantities("pods", "3", "services", "1")
	got := convertQuotas([]corev1.ResourceQuota{*q})[0]
	if hard, _ := got.Hard.Lookup("pods"); hard != 4 {
		t.Errorf("hard %d", hard)
	}
	if diff := cmp.Diff(amount.NewVector(amount.Request{Resource: "pods", Amount: 3}), got.Used); diff != "" {
		t.Errorf("used -want +got:\n%s", diff)
	}
	q.Spec.Hard = quantities("pods", "2")
	if hard, _ := convertQuotas([]corev1.ResourceQuota{*q})[0].Hard.Lookup("pods"); hard != 2 {
		t.Errorf("lowered: hard %d", hard)
	}
}

func TestParametersAreRefused(t *testing.T) {
	ac := &kueue.AdmissionCheck{}
	if fault := validateCheck(ac); fault != nil {
		t.Errorf("got %+v", fault)
	}
	ac.Spec.Parameters = &kueue.AdmissionCheckParametersReference{Kind: "Any"}
	if fault := validateCheck(ac); fault == nil || fault.Reason != kueue.ReasonBadParametersRef {
		t.Errorf("got %+v", fault)
	}
}
