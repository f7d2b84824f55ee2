package act

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
)

func TestGaugesAreReadFromTheView(t *testing.T) {
	s := newScene(t)
	s.idle(61)
	for name, want := range map[string][]string{
		"kueue_pending_workloads":                        {"cq,active 2", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0"},
		"kueue_pending_scheduling_hashes":                {"cq,active 2", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0"},
		"kueue_cluster_queue_resource_pending":           {"cq,gpu 5", "other,gpu 0"},
		"kueue_reserving_active_workloads":               {"cq 1", "other 0"},
		"kueue_admitted_active_workloads":                {"cq 1", "other 0"},
		"kueue_finished_workloads":                       {"cq 1", "other 0"},
		"kueue_cluster_queue_status":                     {"cq,active 1", "cq,pending 0", "cq,terminating 0", "other,active 1", "other,pending 0", "other,terminating 0"},
		"kueue_cluster_queue_info":                       {"cq,low,top 1", "other,low,top 1"},
		"kueue_cluster_queue_nominal_quota":              {"cq,low,red,gpu 4", "other,low,red,gpu 4"},
		"kueue_cluster_queue_borrowing_limit":            {"cq,low,red,gpu +Inf", "other,low,red,gpu +Inf"},
		"kueue_cluster_queue_resource_usage":             {"cq,low,red,gpu 6", "other,low,red,gpu 0"},
		"kueue_cluster_queue_weighted_share":             {"cq,low 250", "other,low 0"},
		"kueue_cohort_info":                              {"low,top,top 1", "top,,top 1"},
		"kueue_cohort_subtree_quota":                     {"low,red,gpu 8", "top,red,gpu 8"},
		"kueue_cohort_subtree_resource_reservations":     {"low,red,gpu 6", "top,red,gpu 6"},
		"kueue_cohort_subtree_admitted_active_workloads": {"low 1", "top 1"},
		"kueue_cohort_weighted_share":                    {"low 0"},
		"kueue_unadmitted_workloads":                     {"cq,NoReservation,PendingEvaluation 1", "cq,NoReservation,WaitingForQuota 1"},
		"kueue_local_queue_unadmitted_workloads": {
			"cq,lq,ns,NoReservation,PendingEvaluation 1", "cq,lq,ns,NoReservation,WaitingForQuota 1",
		},
		"kueue_local_queue_pending_workloads":            {"lq,ns,active 2", "lq,ns,inadmissible 0"},
		"kueue_local_queue_status":                       {"False,lq,ns 0", "True,lq,ns 1", "Unknown,lq,ns 0"},
		"kueue_local_queue_resource_reservation":         {"red,lq,ns,gpu 6"},
		"kueue_local_queue_resource_usage":               {"red,lq,ns,gpu 6"},
		"kueue_local_queue_finished_workloads":           {"lq,ns 1"},
		"kueue_local_queue_admission_fair_sharing_usage": {"cq,lq,ns 6"},
	} {
		s.expect(name, want...)
	}
}

func TestSharesAreNotRoundedAndInfiniteOnesHaveTheirWords(t *testing.T) {
	s := newScene(t)
	s.idle(61)
	weigh := func(weight string) {
		cq := clusterQueue()
		cq.Spec.CohortName = "low"
		cq.Spec.FairSharing = &kueue.FairSharing{Weight: ptr.To(resource.MustParse(weight))}
		s.deliver(cq)
	}
	weigh("3")
	s.expect("kueue_cluster_queue_weighted_share", "cq,low 83.3333", "other,low 0")
	weigh("0")
	s.expect("kueue_cluster_queue_weighted_share", "cq,low NaN", "other,low 0")
}

func TestReservationsOfASubtreeIncludeWhatQueuesKeepForThemselves(t *testing.T) {
	s := newScene(t)
	s.idle(61)
	cq := clusterQueue()
	cq.Spec.CohortName = "low"
	cq.Spec.ResourceGroups[0].Flavors[0].Resources[0].LendingLimit = ptr.To(resource.MustParse("1"))
	s.deliver(cq)
	s.expect("kueue_cohort_subtree_quota", "low,red,gpu 5", "top,red,gpu 5")
	s.expect("kueue_cohort_subtree_resource_reservations", "low,red,gpu 6", "top,red,gpu 6")
	s.deliver(workloadOf("runs", 6, holds("cq", 6), admitted(0), finished(70)))
	s.expect("kueue_cohort_subtree_resource_reservations")
}

func TestNobodyIsActiveInAQueueThatIsNot(t *testing.T) {
	s := newScene(t)
	s.idle(61)
	cq := clusterQueue()
	cq.Spec.CohortName, cq.Spec.StopPolicy = "low", kueue.Hold
	s.deliver(cq)
	s.expect("kueue_pending_workloads", "cq,active 0", "cq,inadmissible 2", "other,active 0", "other,inadmissible 0")
	s.expect("kueue_local_queue_pending_workloads", "lq,ns,active 0", "lq,ns,inadmissible 2")
}

func TestNobodyWaitsInALocalQueueThatIsStopped(t *testing.T) {
	s := newScene(t)
	s.idle(61)
	s.deliver(localQueue(kueue.Hold))
	s.expect("kueue_pending_workloads", "cq,active 0", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0")
	s.expect("kueue_cluster_queue_resource_pending", "cq,gpu 0", "other,gpu 0")
	s.expect("kueue_pending_scheduling_hashes", "cq,active 0", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0")
	s.expect("kueue_unadmitted_workloads")
	s.expect("kueue_local_queue_unadmitted_workloads")
	s.expect("kueue_local_queue_pending_workloads")
	s.expect("kueue_local_queue_status", "False,lq,ns 1", "True,lq,ns 0", "Unknown,lq,ns 0")
	s.expect("kueue_local_queue_reserving_active_workloads", "lq,ns 1")
	s.expect("kueue_local_queue_admitted_active_workloads", "lq,ns 1")
	s.deliver(localQueue(kueue.None))
	s.expect("kueue_cluster_queue_resource_pending", "cq,gpu 5", "other,gpu 0")
}

func localQueue(policy kueue.StopPolicy) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lq", Labels: map[string]string{"count": "me"}},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: "cq", StopPolicy: policy},
	}
}

// drop takes an object away.
func (s *scene) drop(o client.Object) {
	s.Helper()
	informer, err := s.informers.FakeInformerFor(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	informer.Delete(o)
}

func TestNobodyWaitsInALocalQueueThatIsGone(t *testing.T) {
	s := newScene(t)
	s.idle(61)
	s.drop(localQueue(kueue.None))
	s.expect("kueue_pending_workloads", "cq,active 0", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0")
	s.expect("kueue_unadmitted_workloads")
	s.expect("kueue_local_queue_unadmitted_workloads")
}

func TestWhyWorkloadsAreNotAdmittedIsWhatTheirConditionsSay(t *testing.T) {
	not := func(condition, reason string) trait { return says(condition, "False", reason, 5) }
	leaving := func(wl *kueue.Workload) {
		wl.DeletionTimestamp, wl.Finalizers = &metav1.Time{Time: time.Now()}, []string{"some/finalizer"}
	}
	for name, tc := range map[string]struct {
		traits []trait
		closed bool
		want   map[obstacle]float64
	}{
		"nothing was said yet": {want: map[obstacle]float64{{"NoReservation", "PendingEvaluation"}: 1}},
		"it has no quota": {
			traits: []trait{not(kueue.WorkloadQuotaReserved, "WaitingForQuota")},
			want:   map[obstacle]float64{{"NoReservation", "WaitingForQuota"}: 1},
		},
		"it has quota, and that is all": {traits: []trait{holds("cq", 1)}, want: map[obstacle]float64{{"NoReservation", ""}: 1}},
		"it has quota, and waits": {
			traits: []trait{holds("cq", 1), not(kueue.WorkloadAdmitted, "UnsatisfiedAdmissionChecks")},
			want:   map[obstacle]float64{{"UnsatisfiedAdmissionChecks", ""}: 1},
		},
		"it has lost its quota, and was told so": {
			traits: []trait{not(kueue.WorkloadQuotaReserved, "Pending"), not(kueue.WorkloadAdmitted, "Other")},
			want:   map[obstacle]float64{{"Other", "Pending"}: 1},
		},
		"it is going":                {traits: []trait{leaving}},
		"it may not come through":    {closed: true},
		"it is admitted":             {traits: []trait{holds("cq", 1), admitted(10)}},
		"it has ended without quota": {traits: []trait{finished(10)}},
	} {
		t.Run(name, func(t *testing.T) {
			in := view.Inhabitant{Workload: workloadOf("w", 1, tc.traits...), Queue: "cq", Closed: tc.closed}
			if diff := cmp.Diff(tc.want, countInhabitants([]view.Inhabitant{in}).unadmitted["cq"], cmp.AllowUnexported(obstacle{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAnImplicitCohortHasItsSeriesForAsLongAsItIsNamed(t *testing.T) {
	s := newScene(t)
	cq := clusterQueue()
	cq.Spec.CohortName = "implicit"
	s.deliver(cq)
	s.history("w", holds("cq", 1), admitted(10))
	s.expect("kueue_cohort_info", "implicit,,implicit 1", "low,top,top 1", "top,,top 1")
	s.expect("kueue_cluster_queue_info", "cq,implicit,implicit 1", "other,low,top 1")
	cq = clusterQueue()
	cq.Spec.CohortName = "low"
	s.deliver(cq)
	s.expect("kueue_cohort_info", "low,top,top 1", "top,,top 1")
	s.expect("kueue_cohort_subtree_admitted_active_workloads", "low 2", "top 2")
}

func TestALocalQueueThatIsNotSelectedAnyMoreLosesItsSeries(t *testing.T) {
	s := newScene(t)
	s.history("w", holds("cq", 1), admitted(10))
	key := types.NamespacedName{Namespace: "ns", Name: "lq"}
	s.metrics.DropUnselected(key)
	s.expect("kueue_local_queue_admitted_workloads_total", "lq,ns,high 1")
	other := localQueue(kueue.None)
	other.Labels = nil
	s.deliver(other)
	s.metrics.DropUnselected(key)
	s.expect("kueue_local_queue_admitted_workloads_total")
	s.expect("kueue_local_queue_pending_workloads")
}

func TestGatesAndConfigurationChooseTheSeries(t *testing.T) {
	v := view.New(view.Options{})
	cfg := &config.Configuration{FeatureGates: map[string]bool{
		"MetricsForCohorts": false, "LocalQueueMetrics": false, "UnadmittedWorkloadsObservability": false,
		"MetricForWorkloadCreationLatency": false, "DisableWaitForPodsReady": true,
	}}
	cfg.Metrics.LocalQueueMetrics = &config.LocalQueueMetrics{}
	opts, err := MetricsOptionsFor(cfg, v)
	if err != nil {
		t.Fatal(err)
	}
	if opts.LocalQueues != nil || opts.Info || opts.Resources || opts.Shares || opts.Unadmitted || opts.PodsReady || opts.CreationLatency {
		t.Errorf("everything is switched off, but the options are %+v", opts)
	}
	cfg.FeatureGates = map[string]bool{"NoSuchGate": true}
	if _, err := MetricsOptionsFor(cfg, v); err == nil {
		t.Error("a gate that does not exist is accepted")
	}
	cfg.FeatureGates, cfg.Metrics.LocalQueueMetrics.Enable = nil, new(bool)
	if opts, _ := MetricsOptionsFor(cfg, v); opts.LocalQueues != nil || !opts.Info || opts.CohortsAbove == nil || !opts.PodsReady {
		t.Errorf("the options by default, with metrics of LocalQueues disabled, are %+v", opts)
	}
}

// history has the view see the versions of one workload, each with one more trait than the one before.
func (s *scene) history(name string, traits ...trait) {
	s.Helper()
	for n := range traits {
		s.deliver(workloadOf(name, 1, traits[:n+1]...))
	}
}

func TestTheLifeOfAWorkloadIsCounted(t *testing.T) {
	s := newScene(t)
	s.history("w", holds("cq", 1), admitted(10), says(kueue.WorkloadPodsReady, "True", "Started", 30),
		says(kueue.WorkloadPodsReady, "False", "WaitForRecovery", 40), says(kueue.WorkloadPodsReady, "True", "Recovered", 50),
		evicted("Preempted", "", 70), released(75), says(kueue.WorkloadRequeued, "True", "Preempted", 75),
		holds("cq", 1), says(kueue.WorkloadEvicted, "False", "QuotaReserved", 80), admitted(80), finished(100))
	for name, want := range map[string][]string{
		"kueue_admitted_workloads_total":                           {"cq,high 2"},
		"kueue_cohort_subtree_admitted_workloads_total":            {"low,high 2", "top,high 2"},
		"kueue_admission_wait_time_seconds":                        {"cq,high 2x75s"}, // 70 s since its creation, 5 s since it was requeued.
		"kueue_ready_wait_time_seconds":                            {"cq,high 1x90s"},
		"kueue_admitted_until_ready_wait_time_seconds":             {"cq,high 1x20s"},
		"kueue_local_queue_ready_wait_time_seconds":                {"lq,ns,high 1x90s"},
		"kueue_evicted_workloads_total":                            {"cq,high,Preempted, 1"},
		"kueue_evicted_workloads_once_total":                       {"cq,high,Preempted, 1"},
		"kueue_local_queue_evicted_workloads_total":                {"lq,ns,high,Preempted, 1"},
		"kueue_pods_ready_to_evicted_time_seconds":                 {"cq,Preempted, 1x20s"},
		"kueue_workload_eviction_latency_seconds":                  {"cq,Preempted 1x5s"},
		"kueue_finished_workloads_total":                           {"cq,high 1"},
		"kueue_execution_time_seconds":                             {"cq,high 1x20s"},
		"kueue_local_queue_execution_time_seconds":                 {"lq,ns,high 1x20s"},
		"kueue_local_queue_admission_checks_wait_time_seconds":     {"lq,ns,high 2x90s"}, // Both reservations were at 0 s.
		"kueue_admission_checks_wait_time_seconds":                 {"cq,high 2x90s"},
		"kueue_local_queue_admitted_until_ready_wait_time_seconds": {"lq,ns,high 1x20s"},
	} {
		s.expect(name, want...)
	}
}

func TestEvictionsThatNobodySawOneByOneAreCountedAll(t *testing.T) {
	s := newScene(t)
	first := []trait{holds("cq", 1), admitted(0), evicted("Deactivated", "DueToAdmissionCheck", 5), released(9)}
	s.deliver(workloadOf("w", 1, first[:2]...))
	s.deliver(workloadOf("w", 1, append(first, holds("cq", 1), admitted(10), evicted("Deactivated", "DueToAdmissionCheck", 20), released(30))...))
	s.expect("kueue_evicted_workloads_total", "cq,high,Deactivated,AdmissionCheck 2")
	s.expect("kueue_evicted_workloads_once_total", "cq,high,Deactivated,AdmissionCheck 1")
	s.expect("kueue_workload_eviction_latency_seconds", "cq,DeactivatedDueToAdmissionCheck 1x10s")
}

func TestAWorkloadIsExecutedInAllItsAdmissions(t *testing.T) {
	s := newScene(t)
	past := func(wl *kueue.Workload) { wl.Status.AccumulatedPastExecutionTimeSeconds = new(int32(50)) }
	s.history("w", past, holds("cq", 1), admitted(10), finished(100))
	s.expect("kueue_execution_time_seconds", "cq,high 1x140s")
}

func TestWhatACycleDoesIsCounted(t *testing.T) {
	s := newScene(t)
	m := s.metrics
	m.attempt(view.Batch{}, time.Second)
	m.attempt(view.Batch{Wait: []view.Decided{{}}}, time.Second)
	m.attempt(view.Batch{Admit: []view.Decided{{}}, Overlaps: []admission.Overlap{
		{Queue: "cq", Recomputed: true, Found: true}, {Queue: "cq", Recomputed: true}, {Queue: "cq"},
	}}, time.Second)
	s.expect("kueue_admission_attempts_total", "inadmissible 1", "success 1")
	s.expect("kueue_preemption_target_recomputations_total", "cq,failure 1", "cq,success 1")
	s.expect("kueue_admission_cycle_preemption_skips", "cq 2")
	m.attempt(view.Batch{Admit: []view.Decided{{}}}, time.Second)
	s.expect("kueue_admission_cycle_preemption_skips")
	m.Preempted("cq", admission.InCohortReclamation)
	s.expect("kueue_preempted_workloads_total", "cq,InCohortReclamation 1")
	m.Created("batch/job", 30*time.Millisecond)
	s.expect("kueue_workload_creation_latency_seconds", "batch/job 1x0.03s")
}

func TestSeriesGoWithTheirObject(t *testing.T) {
	s := newScene(t)
	s.touchAll()
	s.history("w", holds("cq", 1), admitted(10), finished(100))
	s.metrics.Preempted("cq", admission.InClusterQueue)
	s.metrics.DropClusterQueue("cq")
	s.metrics.DropLocalQueue(types.NamespacedName{Namespace: "ns", Name: "lq"})
	s.metrics.DropCohort("low")
	s.metrics.DropCohort("top")
	for _, name := range []string{
		"kueue_admitted_workloads_total", "kueue_execution_time_seconds", "kueue_local_queue_finished_workloads_total",
		"kueue_cohort_subtree_admitted_workloads_total", "kueue_preempted_workloads_total",
	} {
		if got := s.series(name); len(got) != 1 {
			t.Errorf("%s has %q", name, got) // The one without names is from touchAll.
		}
	}
	informer, err := s.informers.FakeInformerFor(t.Context(), &kueue.ClusterQueue{})
	if err != nil {
		t.Fatal(err)
	}
	gone := clusterQueue()
	gone.Name = "other"
	informer.Delete(gone)
	cohorts, err := s.informers.FakeInformerFor(t.Context(), &kueue.Cohort{})
	if err != nil {
		t.Fatal(err)
	}
	cohorts.Delete(&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "low"}})
	s.expect("kueue_cluster_queue_nominal_quota", "cq,low,red,gpu 4")
	s.expect("kueue_cohort_info", "low,,low 1")
}
