package metrics

import (
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	config "switchyard.dev/apis/config/v1beta2"
)

// Metrics counts what happens to workloads (contract: kueue-api.md 5). The gauges of the queues are not kept here: they
// are read from the view when scraped (see RegisterQueueGauges). The label replica_role is added by the program to all
// metrics as they are read.
type Metrics struct {
	opts Options

	attempts              *prometheus.CounterVec
	attemptDuration       *prometheus.HistogramVec
	creationLatency       *prometheus.HistogramVec
	preempted             *prometheus.CounterVec
	replaced              *prometheus.CounterVec
	recomputed            *prometheus.CounterVec
	skipped               *prometheus.GaugeVec
	admittedInCohort      *prometheus.CounterVec
	gateRemoval           *prometheus.HistogramVec
	clusterQueues         queueMetrics
	localQueues           queueMetrics
	localQueuesWithSeries sync.Map // LocalQueues, as NamespacedName, that may have series
}

// queueMetrics are the metrics that exist for ClusterQueues and, most of them, under another name and label for LocalQueues;
// those that do not are nil.
type queueMetrics struct {
	Reserved      *prometheus.CounterVec
	ReservedWait  *prometheus.HistogramVec
	Admitted      *prometheus.CounterVec
	AdmittedWait  *prometheus.HistogramVec
	ChecksWait    *prometheus.HistogramVec
	ReadyWait     *prometheus.HistogramVec
	AdmittedReady *prometheus.HistogramVec
	Evicted       *prometheus.CounterVec
	EvictedOnce   *prometheus.CounterVec
	ReadyEvicted  *prometheus.HistogramVec
	Release       *prometheus.HistogramVec
	Finished      *prometheus.CounterVec
	Execution     *prometheus.HistogramVec
	// workloadLabels are further labels of Admitted and AdmittedWait.
	workloadLabels customLabels
}

// New makes the metrics and registers them. Several engines in one process share the series of a registry.
func New(registry prometheus.Registerer, opts Options) (*Metrics, error) {
	if opts.LocalQueues == nil {
		opts.LocalQueues = func(types.NamespacedName) bool { return false }
	}
	if opts.CohortsAbove == nil {
		opts.CohortsAbove = func(string) []string { return nil }
	}
	m := &Metrics{
		opts:     opts,
		attempts: newCounter("kueue_admission_attempts_total", "Scheduling cycles by outcome", "result"),
		attemptDuration: newHistogram("kueue_admission_attempt_duration_seconds", "Time that scheduling cycles took",
			prometheus.DefBuckets, "result"),
		creationLatency: newHistogram("kueue_workload_creation_latency_seconds", "Time from the job's creation to that of its Workload",
			prometheus.ExponentialBuckets(0.01, 2, 11), "job_kind"),
		preempted: newCounter("kueue_preempted_workloads_total", "Preemptions by the queue that they were for",
			"preempting_cluster_queue", "reason"),
		replaced: newCounter("kueue_replaced_workload_slices_total", "Slices of elastic jobs that the next slice has taken over from", "cluster_queue"),
		recomputed: newCounter("kueue_preemption_target_recomputations_total", "Second searches for victims within a cycle, by outcome",
			"cluster_queue", "result"),
		skipped: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kueue_admission_cycle_preemption_skips",
			Help: "Workloads that the last cycle passed over, because all their victims were those of others",
		}, []string{"cluster_queue"}),
		admittedInCohort: newCounter("kueue_cohort_subtree_admitted_workloads_total", "Admissions in all queues of the cohort",
			"cohort", "priority_class"),
		gateRemoval: newHistogram("kueue_pod_scheduling_gate_removal_seconds", "Time from the admission to the removal of a gate from a pod",
			prometheus.DefBuckets, "cluster_queue", "is_group", "name"),
		clusterQueues: newClusterQueueMetrics(),
		localQueues:   newLocalQueueMetrics(filterLabels(opts.CustomLabels, config.SourceKindWorkload)),
	}
	if err := m.register(registry); err != nil {
		return nil, err
	}
	return m, nil
}

// newClusterQueueMetrics returns the counters and histograms of ClusterQueues, not registered yet.
func newClusterQueueMetrics() queueMetrics {
	const queue = "cluster_queue"
	f := newQueueMetrics("kueue_", 16, queue)
	f.EvictedOnce = newCounter("kueue_evicted_workloads_once_total", "Workloads by the reason of their first eviction",
		queue, "reason", "underlying_cause", "priority_class")
	f.ReadyEvicted = newHistogram("kueue_pods_ready_to_evicted_time_seconds", "Time from all pods ready to evicted",
		exponentialBuckets(14), queue, "reason", "underlying_cause")
	f.Release = newHistogram("kueue_workload_eviction_latency_seconds", "Time from evicted to quota released",
		exponentialBuckets(14), queue, "reason")
	return f
}

// newLocalQueueMetrics tell admissions apart by labels of the workloads, too.
func newLocalQueueMetrics(custom customLabels) queueMetrics {
	const prefix = "kueue_local_queue_"
	queue := []string{"name", "namespace"}
	f := newQueueMetrics(prefix, 14, queue...)
	f.workloadLabels = custom
	labels := append(append(queue, "priority_class"), custom.names()...)
	f.Admitted = newCounter(prefix+admittedTotal, admittedHelp, labels...)
	f.AdmittedWait = newHistogram(prefix+admittedWait, admittedWaitHelp, exponentialBuckets(14), labels...)
	return f
}

const (
	admittedTotal, admittedHelp    = "admitted_workloads_total", "Admissions"
	admittedWait, admittedWaitHelp = "admission_wait_time_seconds", "Time from queued to admitted"
)

// newQueueMetrics makes those that both kinds of queue have; admission waits have so many buckets.
func newQueueMetrics(prefix string, waits int, queue ...string) queueMetrics {
	with := func(more ...string) []string { return append(append([]string{}, queue...), more...) }
	byClass := with("priority_class")
	wait := func(name, help string, n int) *prometheus.HistogramVec {
		return newHistogram(prefix+name, help, exponentialBuckets(n), byClass...)
	}
	return queueMetrics{
		Reserved:      newCounter(prefix+"quota_reserved_workloads_total", "Reservations of quota", byClass...),
		ReservedWait:  wait("quota_reserved_wait_time_seconds", "Time from queued to quota reserved", 14),
		Admitted:      newCounter(prefix+admittedTotal, admittedHelp, byClass...),
		AdmittedWait:  wait(admittedWait, admittedWaitHelp, waits),
		ChecksWait:    wait("admission_checks_wait_time_seconds", "Time from quota reserved to admitted", 14),
		ReadyWait:     wait("ready_wait_time_seconds", "Time from queued to all pods ready", 14),
		AdmittedReady: wait("admitted_until_ready_wait_time_seconds", "Time from admitted to all pods ready", 14),
		Evicted: newCounter(prefix+"evicted_workloads_total", "Evictions by reason",
			with("reason", "underlying_cause", "priority_class")...),
		Finished:  newCounter(prefix+"finished_workloads_total", "Workloads that have finished", byClass...),
		Execution: wait("execution_time_seconds", "Time that finished workloads were admitted, over all their admissions", 16),
	}
}

func newCounter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func newHistogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// exponentialBuckets is 1 followed by 2.5*2^n, n values in all but the first (contract: kueue-api.md 5, exp14 and exp16).
func exponentialBuckets(n int) []float64 {
	return append([]float64{1}, prometheus.ExponentialBuckets(2.5, 2, n)...)
}

// counters and histograms list the vectors, also those that do not exist for this kind of queue.
func (f *queueMetrics) counters() []**prometheus.CounterVec {
	return []**prometheus.CounterVec{&f.Reserved, &f.Admitted, &f.Evicted, &f.EvictedOnce, &f.Finished}
}

func (f *queueMetrics) histograms() []**prometheus.HistogramVec {
	return []**prometheus.HistogramVec{
		&f.ReservedWait, &f.AdmittedWait, &f.ChecksWait, &f.ReadyWait, &f.AdmittedReady, &f.ReadyEvicted, &f.Release, &f.Execution,
	}
}

// register registers all metrics. One that is registered already is used in place of ours.
func (m *Metrics) register(registry prometheus.Registerer) error {
	counters := []**prometheus.CounterVec{&m.attempts, &m.preempted, &m.replaced, &m.recomputed, &m.admittedInCohort}
	histograms := []**prometheus.HistogramVec{&m.attemptDuration, &m.creationLatency, &m.gateRemoval}
	for _, f := range []*queueMetrics{&m.clusterQueues, &m.localQueues} {
		counters = append(counters, f.counters()...)
		histograms = append(histograms, f.histograms()...)
	}
	if err := registerOrReuse(registry, &m.skipped); err != nil {
		return err
	}
	for _, c := range counters {
		if err := registerOrReuse(registry, c); err != nil {
			return err
		}
	}
	for _, h := range histograms {
		if err := registerOrReuse(registry, h); err != nil {
			return err
		}
	}
	return nil
}

// registerOrReuse registers a collector, or takes the equal one that is registered already. A nil one is none.
func registerOrReuse[C interface {
	comparable
	prometheus.Collector
}](registry prometheus.Registerer, c *C) error {
	var none C
	if *c == none {
		return nil
	}
	err := registry.Register(*c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			*c = existing
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("register metric: %w", err)
	}
	return nil
}

// DeleteClusterQueue removes the series of a ClusterQueue that is gone.
func (m *Metrics) DeleteClusterQueue(name string) {
	labels := prometheus.Labels{"cluster_queue": name}
	m.clusterQueues.deleteSeries(labels)
	m.replaced.DeletePartialMatch(labels)
	m.gateRemoval.DeletePartialMatch(labels)
	m.recomputed.DeletePartialMatch(labels)
	m.skipped.DeletePartialMatch(labels)
	m.preempted.DeletePartialMatch(prometheus.Labels{"preempting_cluster_queue": name})
}

// DeleteUnselected removes the series of a LocalQueue if it has some and is not selected any more.
func (m *Metrics) DeleteUnselected(key types.NamespacedName) {
	if _, counted := m.localQueuesWithSeries.Load(key); counted && !m.opts.LocalQueues(key) {
		m.DeleteLocalQueue(key)
	}
}

// DeleteLocalQueue removes the series of a LocalQueue that is gone, or begins anew.
func (m *Metrics) DeleteLocalQueue(key types.NamespacedName) {
	m.localQueuesWithSeries.Delete(key)
	m.localQueues.deleteSeries(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}

// DeleteCohort removes the series of a cohort that is gone.
func (m *Metrics) DeleteCohort(name string) {
	m.admittedInCohort.DeletePartialMatch(prometheus.Labels{"cohort": name})
}

// deleteSeries removes the series with the labels.
func (f *queueMetrics) deleteSeries(labels prometheus.Labels) {
	for _, c := range f.counters() {
		if *c != nil {
			(*c).DeletePartialMatch(labels)
		}
	}
	for _, h := range f.histograms() {
		if *h != nil {
			(*h).DeletePartialMatch(labels)
		}
	}
}
