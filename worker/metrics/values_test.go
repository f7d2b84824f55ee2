package metrics

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
	s := newMetricsEnv(t)
	s.runEmptyCycle(61)
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
		s.expectSeries(name, want...)
	}
}

func TestSharesAreNotRoundedAndInfiniteOnesAreNaNOrInf(t *testing.T) {
	s := newMetricsEnv(t)
	s.runEmptyCycle(61)
	weigh := func(weight string) {
		cq := testClusterQueue()
		cq.Spec.CohortName = "low"
		cq.Spec.FairSharing = &kueue.FairSharing{Weight: ptr.To(resource.MustParse(weight))}
		s.deliver(cq)
	}
	weigh("3")
	s.expectSeries("kueue_cluster_queue_weighted_share", "cq,low 83.3333", "other,low 0")
	weigh("0")
	s.expectSeries("kueue_cluster_queue_weighted_share", "cq,low NaN", "other,low 0")
}

func TestReservationsOfASubtreeIncludeWhatQueuesKeepForThemselves(t *testing.T) {
	s := newMetricsEnv(t)
	s.runEmptyCycle(61)
	cq := testClusterQueue()
	cq.Spec.CohortName = "low"
	cq.Spec.ResourceGroups[0].Flavors[0].Resources[0].LendingLimit = ptr.To(resource.MustParse("1"))
	s.deliver(cq)
	s.expectSeries("kueue_cohort_subtree_quota", "low,red,gpu 5", "top,red,gpu 5")
	s.expectSeries("kueue_cohort_subtree_resource_reservations", "low,red,gpu 6", "top,red,gpu 6")
	s.deliver(newWorkload("runs", 6, withReservation("cq", 6), withAdmitted(0), withFinished(70)))
	s.expectSeries("kueue_cohort_subtree_resource_reservations")
}

func TestAnInactiveClusterQueueHasNoActiveWorkloads(t *testing.T) {
	s := newMetricsEnv(t)
	s.runEmptyCycle(61)
	cq := testClusterQueue()
	cq.Spec.CohortName, cq.Spec.StopPolicy = "low", kueue.Hold
	s.deliver(cq)
	s.expectSeries("kueue_pending_workloads", "cq,active 0", "cq,inadmissible 2", "other,active 0", "other,inadmissible 0")
	s.expectSeries("kueue_local_queue_pending_workloads", "lq,ns,active 0", "lq,ns,inadmissible 2")
}

func TestAStoppedLocalQueueHasNoPendingWorkloads(t *testing.T) {
	s := newMetricsEnv(t)
	s.runEmptyCycle(61)
	s.deliver(testLocalQueue(kueue.Hold))
	s.expectSeries("kueue_pending_workloads", "cq,active 0", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0")
	s.expectSeries("kueue_cluster_queue_resource_pending", "cq,gpu 0", "other,gpu 0")
	s.expectSeries("kueue_pending_scheduling_hashes", "cq,active 0", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0")
	s.expectSeries("kueue_unadmitted_workloads")
	s.expectSeries("kueue_local_queue_unadmitted_workloads")
	s.expectSeries("kueue_local_queue_pending_workloads")
	s.expectSeries("kueue_local_queue_status", "False,lq,ns 1", "True,lq,ns 0", "Unknown,lq,ns 0")
	s.expectSeries("kueue_local_queue_reserving_active_workloads", "lq,ns 1")
	s.expectSeries("kueue_local_queue_admitted_active_workloads", "lq,ns 1")
	s.deliver(testLocalQueue(kueue.None))
	s.expectSeries("kueue_cluster_queue_resource_pending", "cq,gpu 5", "other,gpu 0")
}

func testLocalQueue(policy kueue.StopPolicy) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lq", Labels: map[string]string{"count": "me"}},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: "cq", StopPolicy: policy},
	}
}

// deleteObject takes an object away.
func (s *metricsEnv) deleteObject(o client.Object) {
	s.Helper()
	informer, err := s.informers.FakeInformerFor(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	informer.Delete(o)
}

func TestADeletedLocalQueueHasNoPendingWorkloads(t *testing.T) {
	s := newMetricsEnv(t)
	s.runEmptyCycle(61)
	s.deleteObject(testLocalQueue(kueue.None))
	s.expectSeries("kueue_pending_workloads", "cq,active 0", "cq,inadmissible 0", "other,active 0", "other,inadmissible 0")
	s.expectSeries("kueue_unadmitted_workloads")
	s.expectSeries("kueue_local_queue_unadmitted_workloads")
}

func TestWhyWorkloadsAreNotAdmittedIsWhatTheirConditionsSay(t *testing.T) {
	not := func(condition, reason string) workloadOption { return withCondition(condition, "False", reason, 5) }
	leaving := func(wl *kueue.Workload) {
		wl.DeletionTimestamp, wl.Finalizers = &metav1.Time{Time: time.Now()}, []string{"some/finalizer"}
	}
	for name, tc := range map[string]struct {
		traits []workloadOption
		closed bool
		want   map[unadmittedReason]float64
	}{
		"nothing was said yet": {want: map[unadmittedReason]float64{{"NoReservation", "PendingEvaluation"}: 1}},
		"it has no quota": {
			traits: []workloadOption{not(kueue.WorkloadQuotaReserved, "WaitingForQuota")},
			want:   map[unadmittedReason]float64{{"NoReservation", "WaitingForQuota"}: 1},
		},
		"it has quota, and that is all": {traits: []workloadOption{withReservation("cq", 1)}, want: map[unadmittedReason]float64{{"NoReservation", ""}: 1}},
		"it has quota, and waits": {
			traits: []workloadOption{withReservation("cq", 1), not(kueue.WorkloadAdmitted, "UnsatisfiedAdmissionChecks")},
			want:   map[unadmittedReason]float64{{"UnsatisfiedAdmissionChecks", ""}: 1},
		},
		"it has lost its quota, and was told so": {
			traits: []workloadOption{not(kueue.WorkloadQuotaReserved, "Pending"), not(kueue.WorkloadAdmitted, "Other")},
			want:   map[unadmittedReason]float64{{"Other", "Pending"}: 1},
		},
		"it is going":                {traits: []workloadOption{leaving}},
		"it may not come through":    {closed: true},
		"it is admitted":             {traits: []workloadOption{withReservation("cq", 1), withAdmitted(10)}},
		"it has ended without quota": {traits: []workloadOption{withFinished(10)}},
	} {
		t.Run(name, func(t *testing.T) {
			in := view.WorkloadInQueue{Workload: newWorkload("w", 1, tc.traits...), Queue: "cq", QueueInactive: tc.closed}
			if diff := cmp.Diff(tc.want, countWorkloads([]view.WorkloadInQueue{in}).unadmitted["cq"], cmp.AllowUnexported(unadmittedReason{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAnImplicitCohortHasItsSeriesForAsLongAsItIsNamed(t *testing.T) {
	s := newMetricsEnv(t)
	cq := testClusterQueue()
	cq.Spec.CohortName = "implicit"
	s.deliver(cq)
	s.deliverVersions("w", withReservation("cq", 1), withAdmitted(10))
	s.expectSeries("kueue_cohort_info", "implicit,,implicit 1", "low,top,top 1", "top,,top 1")
	s.expectSeries("kueue_cluster_queue_info", "cq,implicit,implicit 1", "other,low,top 1")
	cq = testClusterQueue()
	cq.Spec.CohortName = "low"
	s.deliver(cq)
	s.expectSeries("kueue_cohort_info", "low,top,top 1", "top,,top 1")
	s.expectSeries("kueue_cohort_subtree_admitted_active_workloads", "low 2", "top 2")
}

func TestALocalQueueThatIsNotSelectedAnyMoreLosesItsSeries(t *testing.T) {
	s := newMetricsEnv(t)
	s.deliverVersions("w", withReservation("cq", 1), withAdmitted(10))
	key := types.NamespacedName{Namespace: "ns", Name: "lq"}
	s.metrics.DeleteUnselected(key)
	s.expectSeries("kueue_local_queue_admitted_workloads_total", "lq,ns,high 1")
	other := testLocalQueue(kueue.None)
	other.Labels = nil
	s.deliver(other)
	s.metrics.DeleteUnselected(key)
	s.expectSeries("kueue_local_queue_admitted_workloads_total")
	s.expectSeries("kueue_local_queue_pending_workloads")
}

func TestGatesAndConfigurationChooseTheSeries(t *testing.T) {
	v := view.New(view.Options{})
	cfg := &config.Configuration{FeatureGates: map[string]bool{
		"MetricsForCohorts": false, "LocalQueueMetrics": false, "UnadmittedWorkloadsObservability": false,
		"MetricForWorkloadCreationLatency": false, "DisableWaitForPodsReady": true,
	}}
	cfg.Metrics.LocalQueueMetrics = &config.LocalQueueMetrics{}
	opts, err := OptionsFor(cfg, v)
	if err != nil {
		t.Fatal(err)
	}
	if opts.LocalQueues != nil || opts.Info || opts.Resources || opts.Shares || opts.Unadmitted || opts.PodsReady || opts.CreationLatency {
		t.Errorf("everything is switched off, but the options are %+v", opts)
	}
	cfg.FeatureGates = map[string]bool{"NoSuchGate": true}
	if _, err := OptionsFor(cfg, v); err == nil {
		t.Error("a gate that does not exist is accepted")
	}
	cfg.FeatureGates, cfg.Metrics.LocalQueueMetrics.Enable = nil, new(bool)
	if opts, _ := OptionsFor(cfg, v); opts.LocalQueues != nil || !opts.Info || opts.CohortsAbove == nil || !opts.PodsReady {
		t.Errorf("the options by default, with metrics of LocalQueues disabled, are %+v", opts)
	}
}

// deliverVersions has the view see the versions of one workload, each with one more trait than the one before.
func (s *metricsEnv) deliverVersions(name string, traits ...workloadOption) {
	s.Helper()
	for n := range traits {
		s.deliver(newWorkload(name, 1, traits[:n+1]...))
	}
}

func TestTheLifeOfAWorkloadIsCounted(t *testing.T) {
	s := newMetricsEnv(t)
	s.deliverVersions("w", withReservation("cq", 1), withAdmitted(10), withCondition(kueue.WorkloadPodsReady, "True", "Started", 30),
		withCondition(kueue.WorkloadPodsReady, "False", "WaitForRecovery", 40), withCondition(kueue.WorkloadPodsReady, "True", "Recovered", 50),
		withEviction("Preempted", "", 70), withReleased(75), withCondition(kueue.WorkloadRequeued, "True", "Preempted", 75),
		withReservation("cq", 1), withCondition(kueue.WorkloadEvicted, "False", "QuotaReserved", 80), withAdmitted(80), withFinished(100))
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
		s.expectSeries(name, want...)
	}
}

func TestEvictionsObservedTogetherAreAllCounted(t *testing.T) {
	s := newMetricsEnv(t)
	first := []workloadOption{withReservation("cq", 1), withAdmitted(0), withEviction("Deactivated", "DueToAdmissionCheck", 5), withReleased(9)}
	s.deliver(newWorkload("w", 1, first[:2]...))
	s.deliver(newWorkload("w", 1, append(first, withReservation("cq", 1), withAdmitted(10), withEviction("Deactivated", "DueToAdmissionCheck", 20), withReleased(30))...))
	s.expectSeries("kueue_evicted_workloads_total", "cq,high,Deactivated,AdmissionCheck 2")
	s.expectSeries("kueue_evicted_workloads_once_total", "cq,high,Deactivated,AdmissionCheck 1")
	s.expectSeries("kueue_workload_eviction_latency_seconds", "cq,DeactivatedDueToAdmissionCheck 1x10s")
}

func TestAWorkloadIsExecutedInAllItsAdmissions(t *testing.T) {
	s := newMetricsEnv(t)
	past := func(wl *kueue.Workload) { wl.Status.AccumulatedPastExecutionTimeSeconds = new(int32(50)) }
	s.deliverVersions("w", past, withReservation("cq", 1), withAdmitted(10), withFinished(100))
	s.expectSeries("kueue_execution_time_seconds", "cq,high 1x140s")
}

func TestWhatACycleDoesIsCounted(t *testing.T) {
	s := newMetricsEnv(t)
	m := s.metrics
	m.ObserveCycle(view.CycleResult{}, time.Second)
	m.ObserveCycle(view.CycleResult{Wait: []view.WorkloadDecision{{}}}, time.Second)
	m.ObserveCycle(view.CycleResult{Admit: []view.WorkloadDecision{{}}, Overlaps: []admission.Overlap{
		{Queue: "cq", Recomputed: true, Found: true}, {Queue: "cq", Recomputed: true}, {Queue: "cq"},
	}}, time.Second)
	s.expectSeries("kueue_admission_attempts_total", "inadmissible 1", "success 1")
	s.expectSeries("kueue_preemption_target_recomputations_total", "cq,failure 1", "cq,success 1")
	s.expectSeries("kueue_admission_cycle_preemption_skips", "cq 2")
	m.ObserveCycle(view.CycleResult{Admit: []view.WorkloadDecision{{}}}, time.Second)
	s.expectSeries("kueue_admission_cycle_preemption_skips")
	m.CountPreempted("cq", admission.InCohortReclamation)
	s.expectSeries("kueue_preempted_workloads_total", "cq,InCohortReclamation 1")
	m.CountReplaced("cq")
	s.expectSeries("kueue_replaced_workload_slices_total", "cq 1")
	m.ObserveCreation("batch/job", 30*time.Millisecond)
	s.expectSeries("kueue_workload_creation_latency_seconds", "batch/job 1x0.03s")
}

func TestHowLongPodsKeepTheirGates(t *testing.T) {
	s := newMetricsEnv(t)
	single, group, waiting := &kueue.Workload{}, &kueue.Workload{}, &kueue.Workload{}
	for _, wl := range []*kueue.Workload{single, group} {
		wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq"}
		wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(baseTime)}}
	}
	group.Annotations = map[string]string{kueue.IsGroupWorkloadAnnotation: "true"}
	s.metrics.ObserveUngated(single, "gate", baseTime.Add(2*time.Second))
	s.metrics.ObserveUngated(group, "gate", baseTime.Add(-time.Second)) // a clock that is behind
	s.metrics.ObserveUngated(waiting, "gate", baseTime)
	s.expectSeries("kueue_pod_scheduling_gate_removal_seconds", "cq,false,gate 1x2s", "cq,true,gate 1x0s")
	s.metrics.DeleteClusterQueue("cq")
	s.expectSeries("kueue_pod_scheduling_gate_removal_seconds")
}

func TestSeriesGoWithTheirObject(t *testing.T) {
	s := newMetricsEnv(t)
	s.initAllSeries()
	s.deliverVersions("w", withReservation("cq", 1), withAdmitted(10), withFinished(100))
	s.metrics.CountPreempted("cq", admission.InClusterQueue)
	s.metrics.DeleteClusterQueue("cq")
	s.metrics.DeleteLocalQueue(types.NamespacedName{Namespace: "ns", Name: "lq"})
	s.metrics.DeleteCohort("low")
	s.metrics.DeleteCohort("top")
	for _, name := range []string{
		"kueue_admitted_workloads_total", "kueue_execution_time_seconds", "kueue_local_queue_finished_workloads_total",
		"kueue_cohort_subtree_admitted_workloads_total", "kueue_preempted_workloads_total",
	} {
		if got := s.listSeries(name); len(got) != 1 {
			t.Errorf("%s has %q", name, got) // The one without names is from touchAll.
		}
	}
	informer, err := s.informers.FakeInformerFor(t.Context(), &kueue.ClusterQueue{})
	if err != nil {
		t.Fatal(err)
	}
	gone := testClusterQueue()
	gone.Name = "other"
	informer.Delete(gone)
	cohorts, err := s.informers.FakeInformerFor(t.Context(), &kueue.Cohort{})
	if err != nil {
		t.Fatal(err)
	}
	cohorts.Delete(&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "low"}})
	s.expectSeries("kueue_cluster_queue_nominal_quota", "cq,low,red,gpu 4")
	s.expectSeries("kueue_cohort_info", "low,,low 1")
}
