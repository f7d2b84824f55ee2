package controller

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/orphans"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// The metrics of the multikueue check bear their full names, without the prefix of the others (contract: multikueue.md 10,
// kueue-api.md 5). The label replica_role is added to all metrics by the program.
var (
	dispatchedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "multikueue_workloads_dispatched_total",
		Help: "Workload copies created on worker clusters",
	}, []string{"cluster_queue", "cluster"})
	admittedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "multikueue_workloads_admitted_total",
		Help: "Workloads whose multikueue check became Ready",
	}, []string{"cluster_queue", "cluster"})
)

// RegisterMetrics adds the check's metrics to a registry; several hubs of one process share them.
func RegisterMetrics(registry metrics.RegistererGatherer) error {
	for _, c := range []prometheus.Collector{dispatchedTotal, admittedTotal, offersTotal, offerLatency, retreatsTotal, orphans.Gauge} {
		var twice prometheus.AlreadyRegisteredError
		if err := registry.Register(c); err != nil && !errors.As(err, &twice) {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

func countDispatched(wl *kueue.Workload, cluster string) {
	dispatchedTotal.WithLabelValues(reservedClusterQueue(wl), cluster).Inc()
}

// reservedClusterQueue is the ClusterQueue in which the Workload has its quota, as a metric's label; "" while it has none.
func reservedClusterQueue(wl *kueue.Workload) string {
	if wl.Status.Admission == nil {
		return ""
	}
	return string(wl.Status.Admission.ClusterQueue)
}

// recordChange tells what a write has made true: the events, and the metric when the check became Ready.
func (r *WorkloadReconciler) recordChange(s *workloadScope, plan dispatch.Plan, d hubChange) {
	if d.wl == nil {
		return
	}
	kube.RecordEvents(r.Recorder, s.original.Workload, d.events...)
	r.recordMetrics(s, plan)
	if plan.CheckResult.State == dispatch.Ready && s.observed.Local.Check.State != dispatch.Ready && r.isKnownCluster(plan.Next.Bound) {
		admittedTotal.WithLabelValues(reservedClusterQueue(d.wl), plan.Next.Bound).Inc()
	}
}
