package act

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
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
		if stopped(v, w.Workload) {
			continue
		}
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

// stopped tells whether the workload's LocalQueue is stopped: nobody waits in it then.
func stopped(v *view.View, wl *kueue.Workload) bool {
	standing, known := v.LocalQueue(types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)})
	return known && standing.Stopped
}

// waitingIn counts those who wait in a ClusterQueue, without those of stopped LocalQueues. Nobody is active in a ClusterQueue
// that is not (contract: messages.md 6.1).
func (s scrape) waitingIn(queue string, standing view.ClusterQueueStanding) admission.LocalCensus {
	held := s.held[queue]
	n := admission.LocalCensus{Active: standing.QueueStatus.Active - held.Active, Inadmissible: standing.Inadmissible - held.Inadmissible}
	if !standing.Activity.Active {
		n.Active, n.Inadmissible = 0, n.Active+n.Inadmissible
	}
	return n
}

// countHeld counts those who wait in stopped LocalQueues, by ClusterQueue.
func countHeld(v *view.View, census admission.Census) map[string]admission.LocalCensus {
	held := map[string]admission.LocalCensus{}
	for _, l := range census.Locals {
		key := types.NamespacedName{Namespace: l.Local.Namespace, Name: l.Local.Name}
		if standing, known := v.LocalQueue(key); known && standing.Stopped {
			queue := v.Behind(key)
			n := held[queue]
			held[queue] = admission.LocalCensus{Active: n.Active + l.Active, Inadmissible: n.Inadmissible + l.Inadmissible}
		}
	}
	return held
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
