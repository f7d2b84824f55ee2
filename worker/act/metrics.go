package act

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Metrics counts what happens to workloads (contract: kueue-api.md 5). The gauges of the queues are not kept here: they
// are read from the view when scraped (see RegisterQueueGauges). The label replica_role is added by the program to all
// metrics as they are read.
type Metrics struct {
	// localQueues selects the LocalQueues with series of their own.
	localQueues func(types.NamespacedName) bool

	attempts        *prometheus.CounterVec
	attemptDuration *prometheus.HistogramVec
	cluster         families
	local           families
}

// families are the metrics that exist for ClusterQueues and, under another name and label, for LocalQueues.
type families struct {
	Reserved     *prometheus.CounterVec
	ReservedWait *prometheus.HistogramVec
	Admitted     *prometheus.CounterVec
	AdmittedWait *prometheus.HistogramVec
	ChecksWait   *prometheus.HistogramVec
	Evicted      *prometheus.CounterVec
	// EvictedOnce has no form for LocalQueues.
	EvictedOnce *prometheus.CounterVec
	Finished    *prometheus.CounterVec
	Execution   *prometheus.HistogramVec
}

// MetricsOptions choose the series.
type MetricsOptions struct {
	// LocalQueues selects the LocalQueues that get series of their own; nil selects none.
	LocalQueues func(types.NamespacedName) bool
	// Resources adds the quotas and usages of ClusterQueues (metrics.enableClusterQueueResources).
	Resources bool
}

// NewMetrics makes the metrics and registers them. Several engines in one process share the series of a registry.
func NewMetrics(registry prometheus.Registerer, opts MetricsOptions) (*Metrics, error) {
	m := &Metrics{localQueues: opts.LocalQueues}
	if m.localQueues == nil {
		m.localQueues = func(types.NamespacedName) bool { return false }
	}
	m.attempts = counter("kueue_admission_attempts_total", "Scheduling cycles by outcome", "result")
	m.attemptDuration = histogram("kueue_admission_attempt_duration_seconds", "Time that scheduling cycles took",
		prometheus.DefBuckets, "result")
	m.cluster = newFamilies("kueue_", "cluster_queue")
	m.cluster.EvictedOnce = counter("kueue_evicted_workloads_once_total", "Workloads by the reason of their first eviction",
		"cluster_queue", "reason", "underlying_cause", "priority_class")
	m.local = newFamilies("kueue_local_queue_", "name", "namespace")
	for _, family := range []*families{&m.cluster, &m.local} {
		if err := family.register(registry); err != nil {
			return nil, err
		}
	}
	if err := share(registry, &m.attempts); err != nil {
		return nil, err
	}
	return m, share(registry, &m.attemptDuration)
}

func newFamilies(prefix string, queue ...string) families {
	with := func(more ...string) []string { return append(append([]string{}, queue...), more...) }
	byClass := with("priority_class")
	return families{
		Reserved:     counter(prefix+"quota_reserved_workloads_total", "Reservations of quota", byClass...),
		ReservedWait: histogram(prefix+"quota_reserved_wait_time_seconds", "Time from queued to quota reserved", exponential(14), byClass...),
		Admitted:     counter(prefix+"admitted_workloads_total", "Admissions", byClass...),
		AdmittedWait: histogram(prefix+"admission_wait_time_seconds", "Time from queued to admitted", exponential(16), byClass...),
		ChecksWait:   histogram(prefix+"admission_checks_wait_time_seconds", "Time from quota reserved to admitted", exponential(14), byClass...),
		Evicted: counter(prefix+"evicted_workloads_total", "Evictions by reason",
			with("reason", "underlying_cause", "priority_class")...),
		Finished:  counter(prefix+"finished_workloads_total", "Workloads that have finished", byClass...),
		Execution: histogram(prefix+"execution_time_seconds", "Time from admitted to finished", exponential(16), byClass...),
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// exponential is 1 followed by 2.5*2^n, n values in all but the first (contract: kueue-api.md 5, exp14 and exp16).
func exponential(n int) []float64 {
	return append([]float64{1}, prometheus.ExponentialBuckets(2.5, 2, n)...)
}

// counters and histograms list the vectors that exist.
func (f *families) counters() []**prometheus.CounterVec {
	list := []**prometheus.CounterVec{&f.Reserved, &f.Admitted, &f.Evicted, &f.Finished}
	if f.EvictedOnce != nil {
		list = append(list, &f.EvictedOnce)
	}
	return list
}

func (f *families) histograms() []**prometheus.HistogramVec {
	return []**prometheus.HistogramVec{&f.ReservedWait, &f.AdmittedWait, &f.ChecksWait, &f.Execution}
}

func (f *families) register(registry prometheus.Registerer) error {
	for _, c := range f.counters() {
		if err := share(registry, c); err != nil {
			return err
		}
	}
	for _, h := range f.histograms() {
		if err := share(registry, h); err != nil {
			return err
		}
	}
	return nil
}

// drop removes the series with the labels.
func (f *families) drop(labels prometheus.Labels) {
	for _, c := range f.counters() {
		(*c).DeletePartialMatch(labels)
	}
	for _, h := range f.histograms() {
		(*h).DeletePartialMatch(labels)
	}
}

// share registers a collector, or takes the equal one that is registered already.
func share[C prometheus.Collector](registry prometheus.Registerer, c *C) error {
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
