package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// pendingGauges are the descriptions of what can be said about pending workloads, beyond their number.
type pendingGauges struct {
	requests, classes, usage *prometheus.Desc
}

func newPendingGauges() pendingGauges {
	return pendingGauges{
		requests: describe("kueue_cluster_queue_resource_pending", "What waiting workloads ask for", "cluster_queue", "resource"),
		classes: describe("kueue_pending_scheduling_hashes", "Waiting workloads that differ in what they ask for",
			"cluster_queue", "status"),
		usage: describe("kueue_local_queue_admission_fair_sharing_usage", "Recent usage, by which LocalQueues take turns",
			"name", "namespace", "cluster_queue"),
	}
}

// sendPendingDetails sends zeros for queues without pending workloads, so that graphs go down when the last one leaves.
func (s scrape) sendPendingDetails() {
	g := newPendingGauges()
	waiting := s.pendingByClusterQueue()
	for _, name := range s.view.ClusterQueueNames() {
		q := waiting[name]
		s.send(g.classes, float64(q.ActiveClasses), name, statusActive)
		s.send(g.classes, float64(q.InadmissibleClasses), name, statusInadmissible)
		for resource, a := range s.pendingByResource(name, q) {
			s.send(g.requests, toUnits(resource, a), name, resource)
		}
	}
}

// pendingByClusterQueue is the count of pending Workloads of the ClusterQueues by name.
func (s scrape) pendingByClusterQueue() map[string]admission.QueuePendingCounts {
	waiting := make(map[string]admission.QueuePendingCounts, len(s.pendingCounts.Queues))
	for _, q := range s.pendingCounts.Queues {
		waiting[q.Queue] = q
	}
	return waiting
}

// pendingByResource has every resource that the queue has quota for or that a pending workload asks for.
func (s scrape) pendingByResource(name string, q admission.QueuePendingCounts) map[string]amount.Amount {
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

// sendLocalQueues sends the gauges of the LocalQueues that the configuration selects.
func (s scrape) sendLocalQueues() {
	if s.opts.LocalQueues == nil {
		return
	}
	waiting := map[types.NamespacedName]admission.LocalQueuePendingCounts{}
	for _, l := range s.pendingCounts.LocalQueues {
		waiting[types.NamespacedName{Namespace: l.LocalQueue.Namespace, Name: l.LocalQueue.Name}] = l
	}
	for _, key := range s.view.LocalQueueNames() {
		if s.opts.LocalQueues(key) {
			s.sendLocalQueue(key, waiting[key])
		}
	}
}

// sendLocalQueue sends the gauges of one LocalQueue. In an inactive ClusterQueue all pending workloads count as
// inadmissible.
func (s scrape) sendLocalQueue(key types.NamespacedName, waiting admission.LocalQueuePendingCounts) {
	standing, known := s.view.LocalQueueStatus(key)
	if !known {
		return
	}
	g, queue := s.localGauges(), []string{key.Name, key.Namespace}
	if !standing.Stopped { // A stopped queue counts nobody.
		if !s.isActive(s.view.ClusterQueueOf(key)) {
			waiting.Active, waiting.Inadmissible = 0, waiting.Active+waiting.Inadmissible
		}
		s.send(g.pending, float64(waiting.Active), key.Name, key.Namespace, statusActive)
		s.send(g.pending, float64(waiting.Inadmissible), key.Name, key.Namespace, statusInadmissible)
	}
	s.send(g.reserving, float64(standing.Reserving), queue...)
	s.sendAdmitted(g.admitted, queue, standing.Admitted, func(j *countsByLabels) map[workloadLabelValues]float64 { return j.admittedByLocalQueue[key] })
	s.send(g.finished, float64(s.workloadCounts.finishedByLocalQueue[key]), queue...)
	for active, is := range map[string]bool{"True": standing.Activity.Active, "False": !standing.Activity.Active, "Unknown": false} {
		s.send(g.status, boolToFloat(is), key.Name, key.Namespace, active)
	}
	s.sendFlavors(g.reserved, standing.Reserved, queue...)
	s.sendFlavors(g.used, standing.Used, queue...)
	if account, kept := s.view.OrderingUsage(key); kept {
		s.send(newPendingGauges().usage, toUnits(amount.CPU, account.WeightedUsage), key.Name, key.Namespace, s.view.ClusterQueueOf(key))
	}
}

// isActive tells whether the ClusterQueue is there and active.
func (s scrape) isActive(queue string) bool {
	standing, known := s.view.ClusterQueueStatus(queue)
	return known && standing.Activity.Active
}
