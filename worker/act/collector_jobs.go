package act

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

// lane is where in a queue workloads wait, and what tells them apart.
type lane struct {
	status string
	ofJob
}

// byJob counts workloads by the custom labels that come from them.
type byJob struct {
	labels        customLabels
	pending       map[string]map[lane]float64
	admitted      map[string]map[ofJob]float64
	admittedLocal map[types.NamespacedName]map[ofJob]float64
}

// countByJob returns nil if no custom label comes from Workloads: then numbers are enough, which the view has at hand.
func countByJob(labels customLabels, v *view.View, people []view.Inhabitant) *byJob {
	if len(labels) == 0 {
		return nil
	}
	n := &byJob{
		labels: labels, pending: map[string]map[lane]float64{},
		admitted: map[string]map[ofJob]float64{}, admittedLocal: map[types.NamespacedName]map[ofJob]float64{},
	}
	for _, w := range v.Waiters() {
		status := statusInadmissible
		if standing, known := v.ClusterQueue(w.Queue); w.Active && known && standing.Activity.Active {
			status = statusActive
		}
		add(n.pending, w.Queue, lane{status, labels.ofJob(w.Workload)})
	}
	for _, in := range people {
		wl := in.Workload
		if !workload.HasQuota(wl) || !workload.IsAdmitted(wl) || workload.IsFinished(wl) {
			continue
		}
		of := labels.ofJob(wl)
		add(n.admitted, in.Queue, of)
		add(n.admittedLocal, types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}, of)
	}
	return n
}

// waitingIn is how many wait in a ClusterQueue. Nobody is active in one that is not (contract: messages.md 6.1).
func waitingIn(q admission.QueueCensus, active bool) (n admission.LocalCensus) {
	n.Active, n.Inadmissible = q.Active, q.Inadmissible
	if !active {
		n.Active, n.Inadmissible = 0, n.Active+n.Inadmissible
	}
	return n
}

func add[K, L comparable](counts map[K]map[L]float64, k K, l L) {
	if counts[k] == nil {
		counts[k] = map[L]float64{}
	}
	counts[k][l]++
}

// pending sends how many wait in a ClusterQueue.
func (s scrape) pending(d *prometheus.Desc, queue string, waiting admission.LocalCensus) {
	if s.jobs == nil {
		s.send(d, float64(waiting.Active), queue, statusActive)
		s.send(d, float64(waiting.Inadmissible), queue, statusInadmissible)
		return
	}
	for l, n := range s.jobs.pending[queue] {
		s.send(d, n, append([]string{queue, l.status}, s.jobs.labels.list(l.ofJob)...)...)
	}
}

// admitted sends how many are admitted in a queue of either kind, in all or as counted.
func (s scrape) admitted(d *prometheus.Desc, queue []string, all int, counted func(*byJob) map[ofJob]float64) {
	if s.jobs == nil {
		s.send(d, float64(all), queue...)
		return
	}
	for of, n := range counted(s.jobs) {
		s.send(d, n, append(queue[:len(queue):len(queue)], s.jobs.labels.list(of)...)...)
	}
}
