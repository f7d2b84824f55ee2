package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/orphans"
	"switchyard.dev/admissioncheck/multikueue/tracker"
)

// The metrics about each cluster; they go with it. The outcomes of an offer are the values of outcomes below, the causes of
// a retreat are dispatch's Reasons.
var (
	offersTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "switchyard_multikueue_offers_total",
		Help: "Offers to a cluster by what became of them: won, lost to another cluster, or refused",
	}, []string{"cluster", "outcome"})
	offerLatency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "switchyard_multikueue_offer_to_admission_seconds",
		Help:    "Time from the creation of a copy on a cluster until the workload was bound to it",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
	}, []string{"cluster"})
	retreatsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "switchyard_multikueue_retreats_total",
		Help: "Workloads that were taken from a cluster they had been bound to, by cause",
	}, []string{"cluster", "cause"})
)

const outcomeWon, outcomeLost, outcomeRefused = "won", "lost", "refused"

// recordMetrics tells of what a write has made true, cluster by cluster.
func (r *WorkloadReconciler) recordMetrics(s *workloadScope, plan dispatch.Plan) {
	if was := s.state.Bound; !s.state.Retreating() && plan.Next.Retreating() && r.isKnownCluster(was) {
		retreatsTotal.WithLabelValues(was, string(plan.Reason)).Inc()
	}
	winner := plan.Next.Bound
	if winner == "" || s.state.Bound != "" {
		return
	}
	var took time.Duration
	var known bool
	r.tracker.do(func(t *tracker.Tracker) {
		took, known = t.Bound(trackedWorkload(s.original), s.state, s.observed, s.policy, plan)
	})
	if known && r.isKnownCluster(winner) {
		offerLatency.WithLabelValues(winner).Observe(took.Seconds())
	}
	for _, v := range s.observed.Clusters {
		outcome := outcomeLost
		switch {
		case v.Name == winner && r.isKnownCluster(winner):
			outcome = outcomeWon
		case !slices.Contains(s.state.Nominated, v.Name), !r.isKnownCluster(v.Name):
			continue
		case s.state.HasRefused(v):
			outcome = outcomeRefused
		}
		offersTotal.WithLabelValues(v.Name, outcome).Inc()
	}
}

// isKnownCluster reports whether the cluster is one of the fleet: of one that was removed nothing is counted any more.
func (r *WorkloadReconciler) isKnownCluster(cluster string) bool {
	_, known := r.Fleet.State(cluster)
	return known
}

// forgetCluster drops what is known of a cluster that is no more.
func (r *WorkloadReconciler) forgetCluster(cluster string) {
	r.tracker.do(func(t *tracker.Tracker) { t.ForgetCluster(cluster) })
	r.capacities.Forget(cluster)
	of := prometheus.Labels{"cluster": cluster}
	offersTotal.DeletePartialMatch(of)
	offerLatency.DeletePartialMatch(of)
	retreatsTotal.DeletePartialMatch(of)
	dispatchedTotal.DeletePartialMatch(of)
	admittedTotal.DeletePartialMatch(of)
	orphans.Gauge.DeletePartialMatch(of)
	r.orphans.requeueDeleted()
}

// deleteQueueMetrics drops the series of a ClusterQueue that is no more (contract: kueue-api.md 5).
func deleteQueueMetrics(queue string) {
	of := prometheus.Labels{"cluster_queue": queue}
	dispatchedTotal.DeletePartialMatch(of)
	admittedTotal.DeletePartialMatch(of)
}

// queueDeletionHandler drops the metrics of deleted ClusterQueues. It requeues no Workload.
func queueDeletionHandler() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			deleteQueueMetrics(e.Object.GetName())
		},
	}
}

// fleetCollector collects the metrics of the connections to the clusters of all fleets of this process.
type fleetCollector struct {
	mu     sync.Mutex
	fleets []*fleet.Fleet
}

// clusterMetric is one metric about a cluster's connection.
type clusterMetric struct {
	desc      *prometheus.Desc
	valueType prometheus.ValueType
	value     func(fleet.Stats) float64
}

func newClusterDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("switchyard_multikueue_cluster_"+name, help, []string{"cluster"}, nil)
}

var clusterMetrics = []clusterMetric{
	{newClusterDesc("connected", "1 while the cluster is connected, else 0"), prometheus.GaugeValue, func(s fleet.Stats) float64 {
		if s.Connected {
			return 1
		}
		return 0
	}},
	{newClusterDesc("connections_total", "How often contact was made with the cluster"), prometheus.CounterValue,
		func(s fleet.Stats) float64 { return float64(s.Connections) }},
	{newClusterDesc("calls_total", "Requests to the cluster's API server, watches included"), prometheus.CounterValue,
		func(s fleet.Stats) float64 { return float64(s.Calls) }},
	{newClusterDesc("errors_total", "Requests that the cluster's API server failed to answer, or answered with 5xx or 429"), prometheus.CounterValue,
		func(s fleet.Stats) float64 { return float64(s.Errors) }},
	{newClusterDesc("queue_depth", "Workloads that wait for something to be done on the cluster"), prometheus.GaugeValue,
		func(s fleet.Stats) float64 { return float64(s.Queued) }},
}

// Describe implements prometheus.Collector.
func (c *fleetCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range clusterMetrics {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector. Of two clusters of the same name, in tests with two hubs, the first is told of.
func (c *fleetCollector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := map[string]bool{}
	for _, f := range c.fleets {
		for _, s := range f.Stats() {
			if told[s.Cluster] {
				continue
			}
			told[s.Cluster] = true
			for _, about := range clusterMetrics {
				to <- prometheus.MustNewConstMetric(about.desc, about.valueType, about.value(s), s.Cluster)
			}
		}
	}
}

// registerFleetMetrics adds the figures of a fleet to a registry.
func registerFleetMetrics(registry metrics.RegistererGatherer, f *fleet.Fleet) error {
	own := &fleetCollector{fleets: []*fleet.Fleet{f}}
	err := registry.Register(own)
	var twice prometheus.AlreadyRegisteredError
	if !errors.As(err, &twice) {
		if err != nil {
			return fmt.Errorf("register metrics of clusters: %w", err)
		}
		return nil
	}
	if there, ok := twice.ExistingCollector.(*fleetCollector); ok {
		there.mu.Lock()
		defer there.mu.Unlock()
		there.fleets = append(there.fleets, f)
	}
	return nil
}
