package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config/features"
	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/podrequests"
)

func newFairSharing(text string) *kueue.FairSharing {
	return &kueue.FairSharing{Weight: ptr.To(resource.MustParse(text))}
}

func TestPreemptionPoliciesAndWeightOfAClusterQueue(t *testing.T) {
	v := newUsageBasedView()
	cq := testQueue("q", "1", "red")
	cq.Spec.FairSharing = newFairSharing("1500m")
	cq.Spec.AdmissionScope = &kueue.AdmissionScope{AdmissionMode: kueue.UsageBasedAdmissionFairSharing}
	cq.Spec.Preemption = &kueue.ClusterQueuePreemption{
		WithinClusterQueue: kueue.PreemptionPolicyLowerOrNewerEqualPriority, ReclaimWithinCohort: kueue.PreemptionPolicyAny,
		BorrowWithinCohort: &kueue.BorrowWithinCohort{Policy: kueue.PreemptionPolicyLowerPriority, MaxPriorityThreshold: ptr.To(int32(7))},
	}
	got := v.convertClusterQueue(cq, nil)
	want := admission.Preemption{
		WithinQueue: admission.LowerOrNewerEqualPriority, ReclaimWithinCohort: admission.AnyPriority,
		BorrowWithinCohort: admission.LowerPriority, BorrowThreshold: ptr.To(int32(7)),
	}
	if diff := cmp.Diff(want, got.Preemption); diff != "" || got.Weight.Billionths() != 1_500_000_000 || !got.UsageBased {
		t.Errorf("weight %d, by usage %v, policies differ: %s", got.Weight.Billionths(), got.UsageBased, diff)
	}
	if New(Options{}).convertClusterQueue(cq, nil).UsageBased {
		t.Error("recent usage counts although it is not configured")
	}
	cohort := &kueue.Cohort{Spec: kueue.CohortSpec{FairSharing: newFairSharing("0")}}
	if got := convertCohort(cohort).Weight.Billionths(); got != 0 {
		t.Errorf("the cohort weighs %d billionths", got)
	}
	if got := fairSharingWeight(nil).Billionths(); got != quota.UnitWeight {
		t.Errorf("without settings a weight is %d billionths", got)
	}
}

// pendingIn is what the snapshot knows about workload w as it waits in a view with the options.
func pendingIn(t *testing.T, o Options, wl *kueue.Workload) admission.Workload {
	t.Helper()
	v := New(o)
	setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"), wl)
	w, waits := v.snap.Pending(keyOf("ns", wl.Name))
	if !waits {
		t.Fatalf("%s does not wait", wl.Name)
	}
	return w
}

func TestPartialAdmissionNeedsTheFeatureGate(t *testing.T) {
	wl := testWorkload("w", 8, 1)
	wl.Spec.PodSets[0].MinCount = ptr.To(int32(3))
	wl.Spec.PodSets = append(wl.Spec.PodSets, *wl.Spec.PodSets[0].DeepCopy())
	wl.Spec.PodSets[1].Name = "second"
	least := func(o Options) []int32 {
		var list []int32
		for _, ps := range pendingIn(t, o, wl).PodSets {
			list = append(list, ps.MinCount)
		}
		return list
	}
	for name, tc := range map[string]struct {
		open bool
		gone int32
		want []int32
	}{
		"closed":                            {false, 0, []int32{0, 0}},
		"only one pod set is reduced":       {true, 0, []int32{3, 0}},
		"pods that are done are not needed": {true, 2, []int32{1, 0}},
		"at least one has to start":         {true, 6, []int32{1, 0}},
		"nothing is left to be reduced":     {true, 7, []int32{0, 0}},
	} {
		wl.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: tc.gone}}
		if diff := cmp.Diff(tc.want, least(Options{PartialAdmission: tc.open})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestClosedPreemptionGatesOfAWorkload(t *testing.T) {
	wl := testWorkload("w", 1, 1)
	wl.Spec.PreemptionGates = []kueue.PreemptionGate{{Name: "z"}, {Name: "open"}, {Name: "a"}}
	wl.Status.PreemptionGates = []kueue.PreemptionGateState{{Name: "open", Position: kueue.GateOpen}, {Name: "z", Position: kueue.GateClosed}}
	if diff := cmp.Diff([]string{"a", "z"}, pendingIn(t, Options{}, wl).ClosedGates); diff != "" {
		t.Error(diff)
	}
}

func TestAPriorityBoostNeedsTheFeatureGate(t *testing.T) {
	wl := testWorkload("w", 1, 1)
	wl.Spec.Priority = ptr.To(int32(5))
	wl.Annotations = map[string]string{kueue.PriorityBoostAnnotation: "-2"}
	if closed, open := pendingIn(t, Options{}, wl).Priority, pendingIn(t, Options{PriorityBoost: true}, wl).Priority; closed != 5 || open != 3 {
		t.Errorf("the priority is %d with the gate closed and %d with it open", closed, open)
	}
}

func TestAReservationHasWhatVictimsAreChosenBy(t *testing.T) {
	base := func() *kueue.Workload { return setAdmitted(setReservation(testWorkload("h", 3, 1), "cq", "red")) }
	at9 := func(kind string) *kueue.Workload {
		wl := base()
		setCondition(&wl.Status.Conditions, kind, true, kind, timeAt(9))
		return wl
	}
	stale := base()
	setCondition(&stale.Status.Conditions, kueue.WorkloadPodsReady, true, "Started", timeAt(-9))
	for name, tc := range map[string]struct {
		workload *kueue.Workload
		change   func(*admission.Reservation)
	}{
		"admitted":                         {base(), func(*admission.Reservation) {}},
		"evicted":                          {at9(kueue.WorkloadEvicted), func(r *admission.Reservation) { r.Evicted = true }},
		"pods ready":                       {at9(kueue.WorkloadPodsReady), func(r *admission.Reservation) { r.PodsReady = true }},
		"pods ready in a former admission": {stale, func(*admission.Reservation) {}},
		"merely reserved":                  {setReservation(testWorkload("h", 3, 1), "cq", "red"), func(r *admission.Reservation) { r.Admitted = false }},
	} {
		want := admission.Reservation{
			Key: keyOf("ns", "h"), LocalQueue: "lq", Queue: "cq", UID: "uid-h", QueuedAt: baseTime, ReservedAt: baseTime, Admitted: true,
		}
		tc.change(&want)
		got := New(Options{}).buildReservation(tc.workload)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(admission.Reservation{}, "Usage")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOptionsForConfiguration(t *testing.T) {
	open, err := features.New(map[string]bool{"PriorityBoost": true, "PartialAdmission": true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Configuration{
		WaitForPodsReady: &config.WaitForPodsReady{RequeuingStrategy: &config.RequeuingStrategy{Timestamp: ptr.To(config.CreationTimestamp)}},
		Resources: &config.Resources{
			ExcludeResourcePrefixes: []string{"example.com/"},
			Transformations: []config.ResourceTransformation{{
				Input: "a", Strategy: ptr.To(config.Replace), MultiplyBy: "b", Outputs: corev1.ResourceList{"c": resource.MustParse("2")},
			}},
		},
		AdmissionFairSharing: &config.AdmissionFairSharing{
			UsageHalfLifeTime: metav1.Duration{Duration: time.Hour}, UsageSamplingInterval: metav1.Duration{Duration: time.Minute},
			ResourceWeights: map[corev1.ResourceName]float64{"gpu": 2.5},
		},
	}
	want := Options{
		OrderByCreation: true, PartialAdmission: true, Topologies: true, ElasticJobs: true, PriorityBoost: true,
		PodRequests: podrequests.Rules{ExcludePrefixes: []string{"example.com/"}, Transformations: map[corev1.ResourceName]podrequests.Transformation{
			"a": {Replace: true, MultiplyBy: "b", Outputs: corev1.ResourceList{"c": resource.MustParse("2")}},
		}},
		Usage: &usage.Options{HalfLife: time.Hour, Interval: time.Minute, Weights: []usage.ResourceWeight{{Resource: "gpu", Weight: quota.NewWeight(2_500_000_000)}}},
	}
	if diff := cmp.Diff(want, OptionsFor(cfg, open), cmp.Comparer(func(a, b quota.Weight) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Options{PartialAdmission: true, Topologies: true, ElasticJobs: true}, OptionsFor(&config.Configuration{}, open), cmpopts.IgnoreFields(Options{}, "PriorityBoost")); diff != "" {
		t.Error(diff)
	}
}

func TestRequestsAreListedPerPodSet(t *testing.T) {
	wl := testWorkload("w", 3, 1)
	got := BuildPodSetRequests(pendingIn(t, Options{}, wl).PodSets)
	want := []kueue.PodSetRequest{{Name: "main", Resources: corev1.ResourceList{"gpu": resource.MustParse("3")}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
