package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"switchyard.dev/worker/view"
)

// quotaGauges are the descriptions of what ClusterQueues have been given.
type quotaGauges struct {
	info, nominal, borrowing, lending, share *prometheus.Desc
}

// newQuotaGauges describes the gauges of what a ClusterQueue was given.
func newQuotaGauges() quotaGauges {
	each := []string{"cohort", "cluster_queue", "flavor", "resource"}
	return quotaGauges{
		info:      describe("kueue_cluster_queue_info", "1 for every ClusterQueue", "cluster_queue", "parent_cohort", "root_cohort"),
		nominal:   describe("kueue_cluster_queue_nominal_quota", "Nominal quota", each...),
		borrowing: describe("kueue_cluster_queue_borrowing_limit", "Borrowing limit, +Inf for none", each...),
		lending:   describe("kueue_cluster_queue_lending_limit", "Lending limit, +Inf for none", each...),
		share: describe("kueue_cluster_queue_weighted_share",
			"Share of what can be borrowed, in thousandths, divided by the weight; NaN without weight", "cluster_queue", "cohort"),
	}
}

func (s scrape) sendQuotas(g quotaGauges, name string, given view.ClusterQueueQuota) {
	for _, grant := range given.Grants {
		labels := []string{given.Cohort, name, grant.Flavor, grant.Resource}
		s.send(g.nominal, toUnits(grant.Resource, grant.Nominal), labels...)
		s.send(g.borrowing, toUnits(grant.Resource, grant.Borrowing), labels...)
		s.send(g.lending, toUnits(grant.Resource, grant.Lending), labels...)
	}
}
