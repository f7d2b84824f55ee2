package metrics

import "github.com/prometheus/client_golang/prometheus"

// cohortGauges are the descriptions of the gauges of cohorts.
type cohortGauges struct {
	info, admitted, quota, reserved, share *prometheus.Desc
}

// newCohortGauges describes the gauges of cohorts.
func newCohortGauges() cohortGauges {
	return cohortGauges{
		info: describe("kueue_cohort_info", "1 for every cohort", "cohort", "parent_cohort", "root_cohort"),
		admitted: describe("kueue_cohort_subtree_admitted_active_workloads",
			"Admitted workloads of all queues of the cohort that have not finished", "cohort"),
		quota: describe("kueue_cohort_subtree_quota",
			"What the cohort and those below it own, less what they keep for themselves", "cohort", "flavor", "resource"),
		reserved: describe("kueue_cohort_subtree_resource_reservations",
			"What workloads hold in all queues of the cohort", "cohort", "flavor", "resource"),
		share: describe("kueue_cohort_weighted_share", "Share of what can be borrowed, in thousandths, divided by the weight; +Inf without weight", "cohort"),
	}
}

// sendCohorts sends the gauges of all cohorts. Only a cohort with an object has a share.
func (s scrape) sendCohorts() {
	g := newCohortGauges()
	for _, c := range s.view.CohortStatuses() {
		if s.opts.Info {
			s.send(g.info, 1, c.Name, c.Parent, c.Root)
		}
		s.send(g.admitted, float64(c.Admitted), c.Name)
		for _, b := range c.Subtree {
			s.sendPositive(g.quota, toUnits(b.Resource, b.Quota), c.Name, b.Flavor, b.Resource)
			s.sendPositive(g.reserved, toUnits(b.Resource, b.Usage), c.Name, b.Flavor, b.Resource)
		}
		if s.opts.Shares && s.view.CohortMetadata(c.Name) != nil {
			s.send(g.share, c.Share.Thousandths(), c.Name)
		}
	}
}

// sendPositive sends what is more than nothing: nothing is no series (contract: messages.md 6.1).
func (s scrape) sendPositive(d *prometheus.Desc, value float64, labels ...string) {
	if value > 0 {
		s.send(d, value, labels...)
	}
}
