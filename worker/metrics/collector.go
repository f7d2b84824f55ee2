package metrics

import (
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/client_golang/prometheus"

	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/view"
)

// queueCollector reads the gauges of queues and cohorts from the view when they are scraped, so that they are never behind
// and those of an object that is gone go with it. It asks the view for one queue at a time: the scheduler has to wait for
// the answer.
type queueCollector struct {
	view *view.View
	opts Options
}

// RegisterQueueGauges registers the gauges of queues. In a process with several engines the first one's are served.
func RegisterQueueGauges(registry prometheus.Registerer, v *view.View, opts Options) error {
	err := registry.Register(&queueCollector{view: v, opts: opts})
	if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("register queue gauges: %w", err)
	}
	return nil
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	for _, g := range []queueGauges{c.clusterGauges(), c.localGauges()} {
		for _, d := range []*prometheus.Desc{g.pending, g.reserving, g.admitted, g.finished, g.status, g.reserved, g.used, g.unadmitted} {
			out <- d
		}
	}
	q, h, l := newQuotaGauges(), newCohortGauges(), newPendingGauges()
	for _, d := range []*prometheus.Desc{
		q.info, q.nominal, q.borrowing, q.lending, q.share, h.info, h.admitted, h.quota, h.reserved, h.share, l.requests, l.classes, l.usage,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	workloads, pending := c.view.Workloads(), c.view.PendingCounts()
	s := scrape{
		queueCollector: c,
		send: func(d *prometheus.Desc, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
		},
		pendingCounts:  pending,
		workloadCounts: countWorkloads(workloads),
		byLabels:       countByLabels(c.workloadLabels(), c.view, workloads),
	}
	s.sendClusterQueues()
	s.sendLocalQueues()
	s.sendCohorts()
	s.sendPendingDetails()
	if c.opts.Unadmitted {
		s.sendUnadmitted()
	}
}

// scrape is one reading of everything.
type scrape struct {
	*queueCollector
	send           func(d *prometheus.Desc, value float64, labels ...string)
	pendingCounts  admission.PendingCounts
	workloadCounts workloadCounts
	// byLabels is nil unless workloads are told apart by labels of theirs.
	byLabels *countsByLabels
}

// workloadLabels are the custom labels that come from Workloads.
func (c *queueCollector) workloadLabels() customLabels {
	return filterLabels(c.opts.CustomLabels, config.SourceKindWorkload)
}

// queueGauges are the descriptions of the gauges of one kind of queue.
type queueGauges struct {
	pending, reserving, admitted, finished, status, reserved, used, unadmitted *prometheus.Desc
}

// clusterGauges describes the gauges of ClusterQueues, with the custom labels of workloads.
func (c *queueCollector) clusterGauges() queueGauges {
	custom := c.workloadLabels().names()
	each := []string{"cohort", "cluster_queue", "flavor", "resource"}
	return queueGauges{
		pending:   describe("kueue_pending_workloads", "Workloads that wait", append([]string{"cluster_queue", "status"}, custom...)...),
		reserving: describe("kueue_reserving_active_workloads", "Workloads that hold quota", "cluster_queue"),
		admitted:  describe("kueue_admitted_active_workloads", "Admitted workloads that have not finished", append([]string{"cluster_queue"}, custom...)...),
		finished:  describe("kueue_finished_workloads", "Finished workloads that are kept", "cluster_queue"),
		status:    describe("kueue_cluster_queue_status", "1 for the current status", "cluster_queue", "status"),
		reserved:  describe("kueue_cluster_queue_resource_reservation", "What workloads with quota hold", each...),
		used:      describe("kueue_cluster_queue_resource_usage", "What admitted workloads hold", each...),
		unadmitted: describe("kueue_unadmitted_workloads", "Workloads that are not admitted, by why not",
			"cluster_queue", "reason", "underlying_cause"),
	}
}

// localGauges describes the gauges of LocalQueues.
func (c *queueCollector) localGauges() queueGauges {
	queue := func(more ...string) []string { return append([]string{"name", "namespace"}, more...) }
	return queueGauges{
		pending:   describe("kueue_local_queue_pending_workloads", "Workloads that wait", queue("status")...),
		reserving: describe("kueue_local_queue_reserving_active_workloads", "Workloads that hold quota", queue()...),
		admitted:  describe("kueue_local_queue_admitted_active_workloads", "Admitted workloads that have not finished", queue(c.workloadLabels().names()...)...),
		finished:  describe("kueue_local_queue_finished_workloads", "Finished workloads that are kept", queue()...),
		status:    describe("kueue_local_queue_status", "1 for the current status", queue("active")...),
		reserved:  describe("kueue_local_queue_resource_reservation", "What workloads with quota hold", queue("flavor", "resource")...),
		used:      describe("kueue_local_queue_resource_usage", "What admitted workloads hold", queue("flavor", "resource")...),
		unadmitted: describe("kueue_local_queue_unadmitted_workloads", "Workloads that are not admitted, by why not",
			queue("cluster_queue", "reason", "underlying_cause")...),
	}
}

// sendClusterQueues sends the gauges of all known ClusterQueues.
func (s scrape) sendClusterQueues() {
	g, q := s.clusterGauges(), newQuotaGauges()
	waiting := s.pendingByClusterQueue()
	for _, name := range s.view.ClusterQueueNames() {
		standing, known := s.view.ClusterQueueStatus(name)
		given, found := s.view.Quota(name)
		if !known || !found {
			continue
		}
		s.sendPending(g.pending, name, pendingIn(waiting[name], standing.Activity.Active))
		s.send(g.reserving, float64(standing.Reserving), name)
		s.sendAdmitted(g.admitted, []string{name}, standing.Admitted, func(j *countsByLabels) map[workloadLabelValues]float64 { return j.admitted[name] })
		s.send(g.finished, float64(s.workloadCounts.finished[name]), name)
		for _, status := range []string{"pending", "active", "terminating"} {
			s.send(g.status, boolToFloat(status == clusterQueueStatus(standing)), name, status)
		}
		if s.opts.Info {
			s.send(q.info, 1, name, given.Parent(), given.Root)
		}
		if s.opts.Shares && s.opts.Resources {
			s.send(q.share, shareValue(s.view.QueueShare(name)), name, given.Cohort)
		}
		if s.opts.Resources {
			s.sendQuotas(q, name, given)
			s.sendFlavors(g.reserved, standing.Reserved, given.Cohort, name)
			s.sendFlavors(g.used, standing.Used, given.Cohort, name)
		}
	}
}

// sendFlavors sends what is taken, with the labels of the queue followed by flavor and resource.
func (s scrape) sendFlavors(d *prometheus.Desc, list []admission.FlavorStatus, queue ...string) {
	for _, f := range list {
		s.send(d, toUnits(f.Resource, f.Total), append(queue[:len(queue):len(queue)], f.Flavor, f.Resource)...)
	}
}

// clusterQueueStatus is the value of the label status of a ClusterQueue (contract: kueue-api.md 5, 10.17).
func clusterQueueStatus(s view.ClusterQueueStatus) string {
	switch {
	case s.Activity.Active:
		return "active"
	case s.Reason == kueue.ReasonTerminating:
		return "terminating"
	default:
		return "pending"
	}
}

func boolToFloat(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// shareValue is the share of a ClusterQueue in thousandths, NaN for one without weight that borrows (contract: messages.md 6.1).
func shareValue(s quota.Share) float64 {
	if s.IsInfinite() {
		return math.NaN()
	}
	return s.Thousandths()
}

// toUnits is an amount in whole units: cores, bytes, devices.
func toUnits(resource string, a amount.Amount) float64 {
	switch {
	case a == amount.Unlimited:
		return math.Inf(1)
	case amount.UnitOf(resource) == amount.Milli:
		return float64(a) / 1000
	}
	return float64(a)
}
