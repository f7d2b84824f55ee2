package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// The metrics of the multikueue check bear their full names, without the prefix of the others (contract: multikueue.md 10,
// kueue-api.md 5).
var (
	dispatched = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "multikueue_workloads_dispatched_total",
		Help: "Workload copies created on worker clusters",
	}, []string{"cluster_queue", "cluster", "replica_role"})
	admitted = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "multikueue_workloads_admitted_total",
		Help: "Workloads whose multikueue check became Ready",
	}, []string{"cluster_queue", "cluster", "replica_role"})
)

// RegisterMetrics adds the check's metrics to a registry.
func RegisterMetrics(registry metrics.RegistererGatherer) error {
	for _, c := range []prometheus.Collector{dispatched, admitted} {
		if err := registry.Register(c); err != nil {
			return err //nolint:wrapcheck // names the metric
		}
	}
	return nil
}

// leader is the role of the only replica that dispatches.
const leader = "leader"

func countDispatched(wl *kueue.Workload, cluster string) {
	dispatched.WithLabelValues(clusterQueueOf(wl), cluster, leader).Inc()
}

func clusterQueueOf(wl *kueue.Workload) string {
	if wl.Status.Admission == nil {
		return ""
	}
	return string(wl.Status.Admission.ClusterQueue)
}

// record tells what a write has made true: the events, and the metric when the check became Ready.
func (r *Resolver) record(s *subject, plan dispatch.Plan, d done) {
	if d.wl == nil {
		return
	}
	kube.Record(r.Recorder, s.original.Workload, d.events...)
	if plan.Verdict.Check == dispatch.Ready && s.observed.Local.Check != dispatch.Ready {
		admitted.WithLabelValues(clusterQueueOf(d.wl), plan.Next.Bound, leader).Inc()
	}
}
