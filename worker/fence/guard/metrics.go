package guard

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"switchyard.dev/worker/fence"
)

// Metrics tell how the leases of hubs stand, by the name of the lease, how many Workloads were stopped, and whether the fence can
// promise that.
type Metrics struct {
	holds            *prometheus.GaugeVec
	stopped          *prometheus.CounterVec
	withoutGuarantee prometheus.Gauge
	overdue          *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them. Several fences in one process share the series of a registry.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		holds: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "switchyard_fence_lease_holds", Help: "Whether the run lease of a hub holds (1) or has run out (0)",
		}, []string{"lease"}),
		stopped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "switchyard_fence_stopped_workloads_total", Help: "Workloads stopped because the run lease of their hub has run out, by why it has",
		}, []string{"lease", "reason"}),
		withoutGuarantee: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "switchyard_fence_cannot_stop", Help: "Whether jobs here do not stop when they are told to, so that hubs cannot rely on the fence (1), or can (0)",
		}),
		overdue: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "switchyard_fence_overdue_jobs", Help: "Jobs that have waited too long for their own controller or their nodes, by the reaction they wait for",
		}, []string{"kind", "reaction"}),
	}
	var err error
	if m.holds, err = register(registry, m.holds); err != nil {
		return nil, err
	}
	if m.stopped, err = register(registry, m.stopped); err != nil {
		return nil, err
	}
	if m.withoutGuarantee, err = register(registry, m.withoutGuarantee); err != nil {
		return nil, err
	}
	m.overdue, err = register(registry, m.overdue)
	return m, err
}

// setGuarantee shows what the fence can promise.
func (m *Metrics) setGuarantee(p fence.Guarantee) {
	m.withoutGuarantee.Set(0)
	if p.Message() != "" {
		m.withoutGuarantee.Set(1)
	}
	m.overdue.Reset()
	for id := range p.Overdue {
		m.overdue.WithLabelValues(id.Kind, string(id.For)).Inc()
	}
}

// register returns the collector, or the one that the registry has already.
func register[C prometheus.Collector](registry prometheus.Registerer, c C) (C, error) {
	err := registry.Register(c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err != nil {
		return c, fmt.Errorf("register a metric of the fence: %w", err)
	}
	return c, nil
}

// observe shows how a lease stands and adds what was stopped. A lease that is gone and not missed is shown no more.
func (m *Metrics) observe(lease string, s fence.State, stopped int, shown bool) {
	switch {
	case !shown:
		m.holds.DeleteLabelValues(lease)
	case s.Expired:
		m.holds.WithLabelValues(lease).Set(0)
	default:
		m.holds.WithLabelValues(lease).Set(1)
	}
	if stopped > 0 {
		m.stopped.WithLabelValues(lease, string(s.Reason)).Add(float64(stopped))
	}
}
