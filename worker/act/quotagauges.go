package act

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/view"
)

// quotaGauges are the descriptions of what ClusterQueues have been given and what is taken of it.
type quotaGauges struct {
	info, nominal, borrowing, lending, reserved, used *prometheus.Desc
}

func newQuotaGauges() quotaGauges {
	each := []string{"cohort", "cluster_queue", "flavor", "resource"}
	return quotaGauges{
		info:      describe("kueue_cluster_queue_info", "1 for every ClusterQueue", "cluster_queue", "parent_cohort", "root_cohort"),
		nominal:   describe("kueue_cluster_queue_nominal_quota", "Nominal quota", each...),
		borrowing: describe("kueue_cluster_queue_borrowing_limit", "Borrowing limit, +Inf for none", each...),
		lending:   describe("kueue_cluster_queue_lending_limit", "Lending limit, +Inf for none", each...),
		reserved:  describe("kueue_cluster_queue_resource_reservation", "What workloads with quota hold", each...),
		used:      describe("kueue_cluster_queue_resource_usage", "What admitted workloads hold", each...),
	}
}

func (g quotaGauges) all() []*prometheus.Desc {
	return []*prometheus.Desc{g.info, g.nominal, g.borrowing, g.lending, g.reserved, g.used}
}

func (c *queueCollector) collectQuota(out chan<- prometheus.Metric) {
	g := newQuotaGauges()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, name := range c.view.ClusterQueueNames() {
		q, known := c.view.Quota(name)
		if !known {
			continue
		}
		send(g.info, 1, name, q.Cohort, q.Root)
		if c.opts.Resources {
			c.sendResources(g, send, name, q)
		}
	}
}

func (c *queueCollector) sendResources(g quotaGauges, send func(*prometheus.Desc, float64, ...string), name string, q view.ClusterQueueQuota) {
	for _, grant := range q.Grants {
		labels := []string{q.Cohort, name, grant.Flavor, grant.Resource}
		send(g.nominal, inUnits(grant.Resource, grant.Nominal), labels...)
		send(g.borrowing, inUnits(grant.Resource, grant.Borrowing), labels...)
		send(g.lending, inUnits(grant.Resource, grant.Lending), labels...)
	}
	standing, _ := c.view.ClusterQueue(name)
	for d, list := range map[*prometheus.Desc][]admission.FlavorStatus{g.reserved: standing.Reserved, g.used: standing.Used} {
		for _, f := range list {
			send(d, inUnits(f.Resource, f.Total), q.Cohort, name, f.Flavor, f.Resource)
		}
	}
}

// inUnits is an amount in whole units: cores, bytes, devices.
func inUnits(resource string, a amount.Amount) float64 {
	switch {
	case a == amount.Unlimited:
		return math.Inf(1)
	case amount.UnitOf(resource) == amount.Milli:
		return float64(a) / 1000
	}
	return float64(a)
}
