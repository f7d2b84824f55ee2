package act

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/view"
)

// queueCollector reads the gauges of queues from the view when they are scraped, so that they are never behind and those
// of a queue that is gone go with it.
type queueCollector struct {
	view *view.View
	opts MetricsOptions
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// gauges are the descriptions of the gauges of one kind of queue.
type gauges struct {
	pending, reserving, admitted, finished, status *prometheus.Desc
}

func clusterGauges() gauges {
	return gauges{
		pending:   describe("kueue_pending_workloads", "Workloads that wait", "cluster_queue", "status"),
		reserving: describe("kueue_reserving_active_workloads", "Workloads that hold quota", "cluster_queue"),
		admitted:  describe("kueue_admitted_active_workloads", "Admitted workloads that have not finished", "cluster_queue"),
		finished:  describe("kueue_finished_workloads", "Finished workloads that are kept", "cluster_queue"),
		status:    describe("kueue_cluster_queue_status", "1 for the current status", "cluster_queue", "status"),
	}
}

func localGauges() gauges {
	return gauges{
		pending:   describe("kueue_local_queue_pending_workloads", "Workloads that wait", "name", "namespace", "status"),
		reserving: describe("kueue_local_queue_reserving_active_workloads", "Workloads that hold quota", "name", "namespace"),
		admitted:  describe("kueue_local_queue_admitted_active_workloads", "Admitted workloads that have not finished", "name", "namespace"),
		finished:  describe("kueue_local_queue_finished_workloads", "Finished workloads that are kept", "name", "namespace"),
		status:    describe("kueue_local_queue_status", "1 for the current status", "name", "namespace", "active"),
	}
}

// RegisterQueueGauges registers the gauges of queues. In a process with several engines the first one's are served.
func RegisterQueueGauges(registry prometheus.Registerer, v *view.View, opts MetricsOptions) error {
	err := registry.Register(&queueCollector{view: v, opts: opts})
	if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("register queue gauges: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	for _, g := range []gauges{clusterGauges(), localGauges()} {
		for _, d := range []*prometheus.Desc{g.pending, g.reserving, g.admitted, g.finished, g.status} {
			out <- d
		}
	}
	for _, d := range newQuotaGauges().all() {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	g := clusterGauges()
	finished, finishedLocal := c.view.Finished()
	for _, name := range c.view.ClusterQueueNames() {
		s, known := c.view.ClusterQueue(name)
		if !known {
			continue
		}
		send(g.pending, s.QueueStatus.Active, name, "active")
		send(g.pending, s.Inadmissible, name, "inadmissible")
		send(g.reserving, s.Reserving, name)
		send(g.admitted, s.Admitted, name)
		send(g.finished, finished[name], name)
		for _, status := range []string{"pending", "active", "terminating"} {
			send(g.status, one(status == statusOf(s)), name, status)
		}
	}
	c.collectLocal(send, finishedLocal)
	c.collectQuota(out)
}

func (c *queueCollector) collectLocal(send func(*prometheus.Desc, int, ...string), finished map[types.NamespacedName]int) {
	if c.opts.LocalQueues == nil {
		return
	}
	g := localGauges()
	for _, key := range c.view.LocalQueueNames() {
		s, known := c.view.LocalQueue(key)
		if !known || !c.opts.LocalQueues(key) {
			continue
		}
		send(g.pending, s.Pending, key.Name, key.Namespace, "active")
		send(g.reserving, s.Reserving, key.Name, key.Namespace)
		send(g.admitted, s.Admitted, key.Name, key.Namespace)
		send(g.finished, finished[key], key.Name, key.Namespace)
		for _, active := range []bool{true, false} {
			send(g.status, one(active == s.Activity.Active), key.Name, key.Namespace, title(strconv.FormatBool(active)))
		}
	}
}

// statusOf is the value of the label status of a ClusterQueue (contract: kueue-api.md 5, 10.17).
func statusOf(s view.ClusterQueueStanding) string {
	switch {
	case s.Activity.Active:
		return "active"
	case s.Reason == kueue.ReasonTerminating:
		return "terminating"
	default:
		return "pending"
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// title turns true into True, as a condition has it.
func title(word string) string { return string(word[0]-'a'+'A') + word[1:] }
