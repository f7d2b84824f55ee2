package act

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// lineGauges are the descriptions of what can be said about those who wait, beyond their number.
type lineGauges struct {
	requests, kinds, usage *prometheus.Desc
}

func newLineGauges() lineGauges {
	return lineGauges{
		requests: describe("kueue_cluster_queue_resource_pending", "What waiting workloads ask for", "cluster_queue", "resource"),
		kinds: describe("kueue_pending_scheduling_hashes", "Waiting workloads that differ in what they ask for",
			"cluster_queue", "status"),
		usage: describe("kueue_local_queue_admission_fair_sharing_usage", "Recent usage, by which LocalQueues take turns",
			"name", "namespace", "cluster_queue"),
	}
}

// lines sends zeros for queues that nobody waits in, so that graphs go down when the last one leaves.
func (s scrape) lines() {
	g := newLineGauges()
	waiting := s.queuesWaiting()
	for _, name := range s.view.ClusterQueueNames() {
		q := waiting[name]
		s.send(g.kinds, float64(q.ActiveKinds), name, statusActive)
		s.send(g.kinds, float64(q.InadmissibleKinds), name, statusInadmissible)
		for resource, a := range s.covered(name, q) {
			s.send(g.requests, inUnits(resource, a), name, resource)
		}
	}
}

// queuesWaiting is the census of the ClusterQueues by name.
func (s scrape) queuesWaiting() map[string]admission.QueueCensus {
	waiting := make(map[string]admission.QueueCensus, len(s.census.Queues))
	for _, q := range s.census.Queues {
		waiting[q.Queue] = q
	}
	return waiting
}

// covered has every resource that the queue has quota for or that somebody asks for.
func (s scrape) covered(name string, q admission.QueueCensus) map[string]amount.Amount {
	all := map[string]amount.Amount{}
	if given, known := s.view.Quota(name); known {
		for _, grant := range given.Grants {
			all[grant.Resource] = 0
		}
	}
	for _, r := range q.Pending {
		all[r.Resource] = r.Amount
	}
	return all
}

func (s scrape) localQueues() {
	if s.opts.LocalQueues == nil {
		return
	}
	waiting := map[types.NamespacedName]admission.LocalCensus{}
	for _, l := range s.census.Locals {
		waiting[types.NamespacedName{Namespace: l.Local.Namespace, Name: l.Local.Name}] = l
	}
	for _, key := range s.view.LocalQueueNames() {
		if s.opts.LocalQueues(key) {
			s.localQueue(key, waiting[key])
		}
	}
}

func (s scrape) localQueue(key types.NamespacedName, waiting admission.LocalCensus) {
	standing, known := s.view.LocalQueue(key)
	if !known {
		return
	}
	g, queue := s.localGauges(), []string{key.Name, key.Namespace}
	if !standing.Stopped { // A stopped queue counts nobody.
		if !s.active(s.view.Behind(key)) {
			waiting.Active, waiting.Inadmissible = 0, waiting.Active+waiting.Inadmissible
		}
		s.send(g.pending, float64(waiting.Active), key.Name, key.Namespace, statusActive)
		s.send(g.pending, float64(waiting.Inadmissible), key.Name, key.Namespace, statusInadmissible)
	}
	s.send(g.reserving, float64(standing.Reserving), queue...)
	s.admitted(g.admitted, queue, standing.Admitted, func(j *byJob) map[ofJob]float64 { return j.admittedLocal[key] })
	s.send(g.finished, float64(s.people.finishedLocal[key]), queue...)
	for active, is := range map[string]bool{"True": standing.Activity.Active, "False": !standing.Activity.Active, "Unknown": false} {
		s.send(g.status, one(is), key.Name, key.Namespace, active)
	}
	s.flavors(g.reserved, standing.Reserved, queue...)
	s.flavors(g.used, standing.Used, queue...)
	if account, kept := s.view.UsageThatCounts(key); kept {
		s.send(newLineGauges().usage, inUnits(amount.CPU, account.Usage), key.Name, key.Namespace, s.view.Behind(key))
	}
}

// active tells whether the ClusterQueue is there and active.
func (s scrape) active(queue string) bool {
	standing, known := s.view.ClusterQueue(queue)
	return known && standing.Activity.Active
}
