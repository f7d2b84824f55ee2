package controller

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/check"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fencing"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func resourceGroup(flavor, cpu string) kueue.ResourceGroup {
	return kueue.ResourceGroup{
		CoveredResources: []corev1.ResourceName{"cpu"},
		Flavors: []kueue.FlavorQuotas{{
			Name: kueue.ResourceFlavorReference(flavor), Resources: []kueue.ResourceQuota{{Name: "cpu", NominalQuota: quantity(cpu)}},
		}},
	}
}

func annotatedMeta(name string, notes ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}
	for i := 0; i < len(notes); i += 2 {
		m.Annotations[notes[i]] = notes[i+1]
	}
	return m
}

func TestTheRunPolicyOfAQueueGoesBeforeThatOfItsFleet(t *testing.T) {
	policy := switchyard.RunPolicyAnnotation
	for _, tc := range []struct {
		name          string
		config, queue *metav1.ObjectMeta
		want          switchyard.RunPolicy
		wrong         string
	}{
		{name: "nobody says anything", config: ptr.To(annotatedMeta("c")), queue: ptr.To(annotatedMeta("q")), want: switchyard.Compatible},
		{name: "there is nobody to say anything", want: switchyard.Compatible},
		{name: "the fleet says", config: ptr.To(annotatedMeta("c", policy, "run-once")), queue: ptr.To(annotatedMeta("q")), want: switchyard.RunOnce},
		{name: "the queue says otherwise", config: ptr.To(annotatedMeta("c", policy, "run-once")), queue: ptr.To(annotatedMeta("q", policy, "never-lose")), want: switchyard.NeverLose},
		{name: "the queue says a word that is none", config: ptr.To(annotatedMeta("c")), queue: ptr.To(annotatedMeta("q", policy, "twice")), wrong: `ClusterQueue q is "twice": change it to`},
		{name: "the fleet says nothing, aloud", config: ptr.To(annotatedMeta("c", policy, "")), wrong: `MultiKueueConfig c is ""`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var config *kueue.MultiKueueConfig
			var queue *kueue.ClusterQueue
			if tc.config != nil {
				config = &kueue.MultiKueueConfig{ObjectMeta: *tc.config}
			}
			if tc.queue != nil {
				queue = &kueue.ClusterQueue{ObjectMeta: *tc.queue}
			}
			got, err := runpolicy.Effective(config, queue)
			if got != tc.want || (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestTheKillGraceIsThatOfTheSlowestPods(t *testing.T) {
	set := func(grace *int64) kueue.PodSet {
		return kueue.PodSet{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: grace}}}
	}
	for _, tc := range []struct {
		sets []kueue.PodSet
		want time.Duration
	}{
		{nil, 30 * time.Second},
		{[]kueue.PodSet{set(nil)}, 30 * time.Second},
		{[]kueue.PodSet{set(ptr.To[int64](5))}, 5 * time.Second},
		{[]kueue.PodSet{set(ptr.To[int64](5)), set(ptr.To[int64](600)), set(nil)}, 10 * time.Minute},
		{[]kueue.PodSet{set(ptr.To[int64](0))}, 0},
		{[]kueue.PodSet{set(ptr.To[int64](-5))}, time.Second},
		{[]kueue.PodSet{set(ptr.To[int64](9223372037))}, math.MaxInt32 * time.Second},
		{[]kueue.PodSet{set(ptr.To[int64](math.MaxInt64)), set(nil)}, math.MaxInt32 * time.Second},
	} {
		if got := killGrace(&kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: tc.sets}}); got != tc.want {
			t.Errorf("%v instead of %v", got, tc.want)
		}
	}
}

// annotate writes an annotation of a hub's object.
func (st *testEnv) annotate(obj client.Object, name, annotation, value string) {
	st.t.Helper()
	if err := st.hub.Get(context.Background(), client.ObjectKey{Name: name}, obj); err != nil {
		st.t.Fatal(err)
	}
	notes := obj.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[annotation] = value
	obj.SetAnnotations(notes)
	if err := st.hub.Update(context.Background(), obj); err != nil {
		st.t.Fatal(err)
	}
}

// enableRunOnce makes run once the fleet's policy and waits until the cluster's lease is held: what is offered before is not stamped.
func (st *testEnv) enableRunOnce(cluster string) {
	st.t.Helper()
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.RunOnce))
	st.eventually("the lease of "+cluster+" is held", func() bool { s, _ := st.fleet.State(cluster); return s.Fencing.Held })
}

func TestAQueuesPolicyIsKnownAlsoWithoutQuota(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.create(&kueue.ClusterQueue{ObjectMeta: annotatedMeta("cq", switchyard.RunPolicyAnnotation, string(switchyard.NeverLose))})
	st.create(&kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "cq"},
	})
	st.enqueue()
	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.policy.Name(); got != "never lose" {
		t.Errorf("policy %q before the Workload has quota", got)
	}
}

// The hub does not know any more under which policy the job ran, but for the stamp of a job that was to be fenced.
func TestWhatTheHubHasForgottenGoesWithItsPodsOnlyIfItWasToBeFenced(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced=%v", fenced), func(t *testing.T) {
			st := newTestEnv(t, "w1")
			st.submit()
			st.runOn("w1")
			if fenced {
				j := st.jobOn("w1")
				j.Annotations[switchyard.OnHubLostAnnotation] = string(switchyard.Stop)
				if err := st.workers["w1"].Update(t.Context(), j); err != nil {
					t.Fatal(err)
				}
				st.eventually("the hub sees the stamp", func() bool {
					seen, _ := st.fleet.Get("w1", batchJobKind(t).GVK(), jobKey())
					return seen != nil && seen.GetAnnotations()[switchyard.OnHubLostAnnotation] != ""
				})
			}
			for _, obj := range []client.Object{st.hubJob(), st.hubWorkload()} {
				if err := st.hub.Delete(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
			}
			st.eventually("the job is gone from w1", func() bool { return st.jobOn("w1") == nil && st.copyOn("w1") == nil })
			if got := st.workers["w1"].hasBackgroundDelete(); got == fenced {
				t.Errorf("removed in the background: %v", got)
			}
		})
	}
}

func TestUnderRunOnceCopiesAndJobsAreStampedAndTheLeaseIsKept(t *testing.T) {
	st := newTestEnv(t, "w1")
	if f, _ := st.fleet.State("w1"); f.Fencing.RenewalStarted {
		t.Error("a lease is kept although nobody wants it")
	}
	st.enableRunOnce("w1")
	st.submit()
	st.runOn("w1")
	if !mirror.StopsWithoutHub(st.copyOn("w1")) || !mirror.StopsWithoutHub(st.jobOn("w1")) {
		t.Error("not stamped")
	}
	lease := &coordinationv1.Lease{}
	st.eventually("the lease is held", func() bool {
		key := client.ObjectKey{Namespace: "kueue-system", Name: "switchyard-hub-" + origin}
		return st.workers["w1"].Get(context.Background(), key, lease) == nil
	})
}

func TestUnderTheCompatiblePolicyNothingIsStamped(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	if mirror.StopsWithoutHub(st.copyOn("w1")) || mirror.StopsWithoutHub(st.jobOn("w1")) {
		t.Error("stamped")
	}
}

func TestALeaseIsKeptAsLongAsACopyDependsOnIt(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.enableRunOnce("w1")
	st.submit()
	st.runOn("w1")
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.Compatible))
	if !st.reconciler.IsLeaseNeeded("w1") {
		t.Error("a stamped job would be stopped")
	}
}

func TestAQueueMayWantALeaseWhereItsFleetDoesNot(t *testing.T) {
	st := newTestEnv(t, "w1")
	if st.reconciler.IsLeaseNeeded("w1") {
		t.Error("wanted by nobody")
	}
	st.create(&kueue.ClusterQueue{ObjectMeta: annotatedMeta("cq", switchyard.RunPolicyAnnotation, string(switchyard.RunOnce))})
	if !st.reconciler.IsLeaseNeeded("w1") {
		t.Error("not wanted")
	}
}

func TestAnUnknownRunPolicyMakesTheCheckInactive(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, "sometimes")
	r := check.NewReconciler(st.hub)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "mk"}}); err != nil {
		t.Fatal(err)
	}
	ac := &kueue.AdmissionCheck{}
	if err := st.hub.Get(t.Context(), client.ObjectKey{Name: "mk"}, ac); err != nil {
		t.Fatal(err)
	}
	got := meta.FindStatusCondition(ac.Status.Conditions, "Active")
	if got == nil || got.Status != metav1.ConditionFalse || got.Reason != "BadConfig" || !strings.Contains(got.Message, "change it to compatible, run-once or never-lose") {
		t.Errorf("condition %+v", got)
	}
}

// createFence puts the lease of a fence on a worker.
func (st *testEnv) createFence(worker string) {
	st.t.Helper()
	fence := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: switchyard.FenceLease},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("fence"), RenewTime: ptr.To(metav1.NowMicro()), LeaseDurationSeconds: ptr.To[int32](300),
		},
	}
	if err := st.workers[worker].Create(st.t.Context(), fence); err != nil {
		st.t.Fatal(err)
	}
}

// explain asks anew what the hub would do with the Workload now.
func (st *testEnv) explain() dispatch.Plan {
	st.t.Helper()
	s, err := st.reconciler.observe(st.t.Context(), workloadKey())
	if err != nil || s == nil {
		return dispatch.Plan{}
	}
	return dispatch.Explain(s.state, s.observed, s.policy)
}

func TestAClusterWhoseFenceWouldStopTheJobIsOfferedItOnceItsLeaseIsRenewed(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.leaseDuration = 100 * time.Millisecond
	st.restart(st.policy)
	st.waitConnected()
	st.createFence("w1")
	st.workers["w1"].setLeaseRefusal(true, false)
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.RunOnce))
	st.submit()
	st.eventually("the lease is known not to be renewed", func() bool { s, _ := st.fleet.State("w1"); return s.Fencing.Expired })
	st.eventually("the hub says so", func() bool {
		plan := st.explain()
		return len(plan.Clusters) == 1 && plan.Clusters[0].Reason == dispatch.NotLeased && len(plan.Next.Nominated) == 0 &&
			strings.Contains(plan.Clusters[0].Message, "no rights")
	})
	if st.copyOn("w1") != nil {
		t.Error("offered to a cluster whose fence would stop it")
	}
	state, _ := st.fleet.State("w1")
	unstamped := dispatch.ClusterView{Name: "w1"}
	if st.reconciler.setLeaseState(&unstamped, externalKind(), state.Fencing, time.Now()); unstamped.Fence.Lease != dispatch.Leased {
		t.Error("a job that no fence stops is to wait for the lease")
	}
	st.workers["w1"].setLeaseRefusal(false, false)
	st.waitOffered("w1")
	if !mirror.StopsWithoutHub(st.copyOn("w1")) {
		t.Error("not stamped")
	}
}

func TestAStockWorkerIsOfferedToThoughItKnowsNoLeases(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.workers["w1"].setLeaseRefusal(true, true)
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.RunOnce))
	st.submit()
	st.waitOffered("w1")
	if mirror.StopsWithoutHub(st.copyOn("w1")) {
		t.Error("stamped although a fence, if there is one, would stop it")
	}
}

func TestTheFenceIsReportedAndRememberedAcrossRestarts(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(switchyard.RunOnce))
	st.createFence("w1")
	st.eventually("the fence is seen", func() bool { s, _ := st.fleet.State("w1"); return s.Fencing.FenceAlive && s.Fencing.Held })
	r := &fencing.Reconciler{Client: st.hub, Fleet: st.fleet, Clock: clock.RealClock{}}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "w1"}}); err != nil {
		t.Fatal(err)
	}
	st.workers["w1"].setDown(true)
	st.submit()
	st.restart(st.policy)
	s, err := st.reconciler.observe(t.Context(), workloadKey())
	if err != nil {
		t.Fatal(err)
	}
	if v := s.observed.Clusters[0]; !v.Fence.Alive || v.Fence.RenewedAt.IsZero() {
		t.Errorf("after a restart: fenced %t, renewed at %v", v.Fence.Alive, v.Fence.RenewedAt)
	}
}

func TestACordonedClusterIsOfferedNothing(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.CordonedAnnotation, "true")
	st.submit()
	st.waitOffered("w2")
	if st.copyOn("w1") != nil {
		t.Error("offered")
	}
}

// mustLeave reports whether it is the Workload's turn to leave a cluster.
func (st *testEnv) mustLeave(cluster string) bool {
	v := dispatch.ClusterView{Name: cluster, Operator: dispatch.Operator{BeingDrained: true}}
	st.reconciler.tracker.do(func(t *tracker.Tracker) { t.AddTo(tracker.Workload{Key: admissionKey(workloadKey())}, 1, &v) })
	return v.Operator.Draining
}

func TestADrainMovesOneWorkloadAfterAnother(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.runOn("w1")
	d := st.reconciler.newDrainer()
	d.DrainClusters(t.Context())
	if st.mustLeave("w1") {
		t.Error("moved although nobody drains")
	}
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.DrainAnnotation, "true")
	d.DrainClusters(t.Context())
	if !st.mustLeave("w1") || st.mustLeave("w2") {
		t.Error("not the turn of who runs there")
	}
	st.eventually("retreated from w1", func() bool { return st.checkState().State == kueue.CheckStateRetry })
	d.DrainClusters(t.Context())
	if st.mustLeave("w1") {
		t.Error("who has been given up has a turn again")
	}
}

func TestTheCheckSaysWhyAJobStaysOnADrainedClusterUntilTheDrainIsOver(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.submit()
	st.runOn("w1")
	st.annotate(&kueue.MultiKueueCluster{}, "w2", switchyard.CordonedAnnotation, "true")
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.DrainAnnotation, "true")
	st.eventually("the job is seen", func() bool {
		seen, _ := st.fleet.Get("w1", batchJobKind(t).GVK(), jobKey())
		return seen != nil
	})
	st.reconciler.newDrainer().DrainClusters(t.Context())
	want := `The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it; "w2" not eligible: is cordoned`
	st.eventually("the check says so", func() bool { return st.checkState().Message == want })
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.DrainAnnotation, "false")
	st.eventually("the check says so no more", func() bool { return st.checkState().Message == `The workload was admitted on "w1"` })
}

func TestTheLastAdmittedLeavesADrainedClusterFirst(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.stop() // nobody else is to look at what follows
	for i, name := range []string{"old", "young", "middle"} {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)}}
		wl.Status.ClusterName = ptr.To("w1")
		at := []int{0, 20, 10}[i]
		wl.Status.Conditions = []metav1.Condition{{
			Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 21, 12, at, 0, 0, time.UTC)),
		}}
		st.create(wl)
		if err := st.hub.Status().Update(t.Context(), wl); err != nil {
			t.Fatal(err)
		}
	}
	d := st.reconciler.newDrainer()
	for _, want := range []string{"young", "middle", "old", "young"} {
		if got := d.SelectWorkloads(t.Context(), "w1"); len(got) != 1 || got[0].Name != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}

func TestTheFirstOfSeveralSiblingsChoosesTheCluster(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.stop() // nobody else is to look at what follows
	of := func(name, index string, owner string) *kueue.Workload {
		wl := &kueue.Workload{ObjectMeta: annotatedMeta(name, kueue.ComponentWorkloadIndexAnnotation, index)}
		wl.Namespace, wl.UID = "team", types.UID(name)
		wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
		st.create(wl)
		return wl
	}
	first, second := of("a", "0", "set"), of("b", "1", "set")
	of("c", "0", "another")
	seen := func(wl *kueue.Workload) (l struct {
		Pin    string
		Awaits bool
	}) {
		s := &workloadScope{}
		st.reconciler.observeSiblings(t.Context(), wl, &s.observed.Local)
		l.Pin, l.Awaits = s.observed.Local.Siblings.Pin, s.observed.Local.Siblings.Awaited
		return l
	}
	if got := seen(first); got.Pin != "" || got.Awaits {
		t.Errorf("the first: %+v", got)
	}
	if got := seen(second); got.Pin != "" || !got.Awaits {
		t.Errorf("the second before the first has a cluster: %+v", got)
	}
	first.Status.ClusterName = ptr.To("w2")
	if err := st.hub.Status().Update(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := seen(second); got.Pin != "w2" || got.Awaits {
		t.Errorf("the second afterwards: %+v", got)
	}
}
