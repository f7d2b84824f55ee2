package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

const (
	statusActive       = "active"
	statusInadmissible = "inadmissible"
)

// pendingKey is where in a queue workloads wait, and what tells them apart.
type pendingKey struct {
	status string
	workloadLabelValues
}

// countsByLabels counts workloads by the custom labels that come from them.
type countsByLabels struct {
	labels               customLabels
	pending              map[string]map[pendingKey]float64
	admitted             map[string]map[workloadLabelValues]float64
	admittedByLocalQueue map[types.NamespacedName]map[workloadLabelValues]float64
}

// countByLabels returns nil if no custom label comes from Workloads: then numbers are enough, which the view has at hand.
func countByLabels(labels customLabels, v *view.View, workloads []view.WorkloadInQueue) *countsByLabels {
	if len(labels) == 0 {
		return nil
	}
	n := &countsByLabels{
		labels: labels, pending: map[string]map[pendingKey]float64{},
		admitted: map[string]map[workloadLabelValues]float64{}, admittedByLocalQueue: map[types.NamespacedName]map[workloadLabelValues]float64{},
	}
	for _, w := range v.PendingWorkloads() {
		status := statusInadmissible
		if standing, known := v.ClusterQueueStatus(w.Queue); w.Active && known && standing.Activity.Active {
			status = statusActive
		}
		incrementCount(n.pending, w.Queue, pendingKey{status, labels.workloadValues(w.Workload)})
	}
	for _, in := range workloads {
		wl := in.Workload
		if !workload.HasQuota(wl) || !workload.IsAdmitted(wl) || workload.IsFinished(wl) {
			continue
		}
		of := labels.workloadValues(wl)
		incrementCount(n.admitted, in.Queue, of)
		incrementCount(n.admittedByLocalQueue, types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}, of)
	}
	return n
}

// pendingIn is how many workloads wait in a ClusterQueue. None is active in a queue that is not (contract: messages.md 6.1).
func pendingIn(q admission.QueuePendingCounts, active bool) (n admission.LocalQueuePendingCounts) {
	n.Active, n.Inadmissible = q.Active, q.Inadmissible
	if !active {
		n.Active, n.Inadmissible = 0, n.Active+n.Inadmissible
	}
	return n
}

func incrementCount[K, L comparable](counts map[K]map[L]float64, k K, l L) {
	if counts[k] == nil {
		counts[k] = map[L]float64{}
	}
	counts[k][l]++
}

// sendPending sends how many wait in a ClusterQueue.
func (s scrape) sendPending(d *prometheus.Desc, queue string, waiting admission.LocalQueuePendingCounts) {
	if s.byLabels == nil {
		s.send(d, float64(waiting.Active), queue, statusActive)
		s.send(d, float64(waiting.Inadmissible), queue, statusInadmissible)
		return
	}
	for l, n := range s.byLabels.pending[queue] {
		s.send(d, n, append([]string{queue, l.status}, s.byLabels.labels.valueList(l.workloadLabelValues)...)...)
	}
}

// sendAdmitted sends how many are admitted in a queue of either kind, in all or as counted.
func (s scrape) sendAdmitted(d *prometheus.Desc, queue []string, all int, counted func(*countsByLabels) map[workloadLabelValues]float64) {
	if s.byLabels == nil {
		s.send(d, float64(all), queue...)
		return
	}
	for of, n := range counted(s.byLabels) {
		s.send(d, n, append(queue[:len(queue):len(queue)], s.byLabels.labels.valueList(of)...)...)
	}
}
