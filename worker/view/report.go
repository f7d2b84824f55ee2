package view

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/admission/usage"
)

// Reports answers what controllers, metrics and the capacity report ask of a View. Each answer is of one moment, assumed reservations
// included. It changes nothing.
type Reports struct {
	mu      *sync.Mutex
	opts    Options
	objects *objectIndex
	index   *workloadIndex
	snap    *admission.Snapshot
	// usageTracker is nil unless recent usage counts.
	usageTracker *usageTracker
}

func (lq *localQueue) isStopped() bool {
	return !lq.obj.DeletionTimestamp.IsZero() || lq.obj.Spec.StopPolicy.Stops()
}

// WorkloadInQueue is a Workload and the ClusterQueue that it has quota in or waits in; the queue is empty if there is none. The
// Workload is shared: make a copy before changing it.
type WorkloadInQueue struct {
	Workload *kueue.Workload
	Queue    string
	// QueueInactive is whether its LocalQueue is not there, going or stopped, or leads to a ClusterQueue that is not there.
	QueueInactive bool
}

// localQueueTarget is the ClusterQueue behind a LocalQueue, and whether the way there is closed.
type localQueueTarget struct {
	clusterQueue string
	inactive     bool
}

// PendingWorkload is a Workload that waits in a ClusterQueue. It is shared: make a copy before changing it.
type PendingWorkload struct {
	Workload *kueue.Workload
	Queue    string
	// Active is false for one that is inadmissible or waits for its backoff to end.
	Active bool
}

// RecentUsage is what a LocalQueue has consumed lately, whether or not that decides about the order of workloads.
type RecentUsage struct {
	usage.LocalQueueUsage
	// Enabled tells whether recent usage is configured at all, and Known whether the queue's account has begun.
	Enabled, Known bool
}

// QueueShare returns the ClusterQueue's share of what its cohort could lend (contract: kueue-api.md 4.8).
func (r *Reports) QueueShare(queue string) quota.Share {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap.QueueShare(queue)
}

// CohortsAbove lists the cohorts above a ClusterQueue, nearest first.
func (r *Reports) CohortsAbove(queue string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap.AncestorCohorts(queue)
}

// CohortStatus returns how a cohort stands; false when there is no such object and none names it.
func (r *Reports) CohortStatus(name string) (admission.CohortStatus, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap.Cohort(name)
}

// CohortStatuses returns how all cohorts stand, by name, those without an object included.
func (r *Reports) CohortStatuses() []admission.CohortStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap.Cohorts()
}

// PendingCounts counts the pending workloads of all queues at once. Workloads of a LocalQueue that is closed do not count.
func (r *Reports) PendingCounts() admission.PendingCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap.PendingCounts(r.objects.isLocalQueueStopped)
}

// countPendingInStopped counts the pending workloads of a ClusterQueue that came through a LocalQueue that is closed.
func (r *Reports) countPendingInStopped(queue string) int {
	n := 0
	for key, lq := range r.objects.localQueuesByClusterQueue[queue] {
		if lq.isStopped() {
			n += r.snap.LocalQueueStatus(key, "").Pending
		}
	}
	return n
}

// ClusterQueueOf returns the ClusterQueue that a LocalQueue points to; empty when the LocalQueue is not known.
func (r *Reports) ClusterQueueOf(name types.NamespacedName) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects.clusterQueueOf(keyOf(name.Namespace, name.Name))
}

// Workloads lists all workloads, in no order. Only pointers are copied while the mutex is held, since the scheduler waits for
// it; the rest is read afterwards, of objects that are never changed.
func (r *Reports) Workloads() []WorkloadInQueue {
	list, behind := r.listWorkloads()
	for i := range list {
		in := &list[i]
		through, known := behind[keyOf(in.Workload.Namespace, string(in.Workload.Spec.QueueName))]
		in.Queue, in.QueueInactive = through.clusterQueue, !known || through.inactive
		if in.Workload.Status.Admission != nil {
			in.Queue = string(in.Workload.Status.Admission.ClusterQueue)
		}
	}
	return list
}

// listWorkloads lists the workloads without their queues, and which ClusterQueue is behind which LocalQueue.
func (r *Reports) listWorkloads() ([]WorkloadInQueue, map[admission.Key]localQueueTarget) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]WorkloadInQueue, 0, len(r.index.workloads))
	for _, w := range r.index.workloads {
		list = append(list, WorkloadInQueue{Workload: w.obj})
	}
	behind := make(map[admission.Key]localQueueTarget, len(r.objects.localQueues))
	for key, lq := range r.objects.localQueues {
		queue := string(lq.obj.Spec.ClusterQueue)
		behind[key] = localQueueTarget{clusterQueue: queue, inactive: lq.isStopped() || r.objects.clusterQueues[queue] == nil}
	}
	return list, behind
}

// PendingWorkloads lists the pending workloads, in no order, without those that came through a LocalQueue that is closed. It
// is for a scrape that has to tell them apart.
func (r *Reports) PendingWorkloads() []PendingWorkload {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []PendingWorkload
	for _, w := range r.index.workloads {
		if waiter := r.snap.PendingWorkload(w.key()); waiter != nil && !r.objects.isLocalQueueStopped(keyOf(w.obj.Namespace, string(w.obj.Spec.QueueName))) {
			list = append(list, PendingWorkload{Workload: w.obj, Queue: waiter.Queue, Active: waiter.IsActive()})
		}
	}
	return list
}

// ClusterQueueMetadata returns the labels and annotations of a ClusterQueue, nil if it is not known. They must not be changed.
func (r *Reports) ClusterQueueMetadata(name string) metav1.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cq := r.objects.clusterQueues[name]; cq != nil {
		return cq.obj
	}
	return nil
}

// LocalQueueMetadata is the same for a LocalQueue.
func (r *Reports) LocalQueueMetadata(name types.NamespacedName) metav1.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lq := r.objects.localQueues[keyOf(name.Namespace, name.Name)]; lq != nil {
		return lq.obj
	}
	return nil
}

// CohortMetadata is the same for a Cohort; nil also for one that is only named.
func (r *Reports) CohortMetadata(name string) metav1.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.objects.cohorts[name]; c != nil {
		return c
	}
	return nil
}

// RecentUsage returns the recent usage of a LocalQueue.
func (r *Reports) RecentUsage(name types.NamespacedName) RecentUsage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.usageTracker == nil {
		return RecentUsage{}
	}
	account, known := r.usageTracker.LocalQueueUsage(keyOf(name.Namespace, name.Name))
	return RecentUsage{LocalQueueUsage: account, Enabled: true, Known: known}
}

// OrderingUsage returns the recent usage of a LocalQueue whose ClusterQueue orders pending workloads by it; false for any
// other (contract: kueue-api.md 4.14).
func (r *Reports) OrderingUsage(name types.NamespacedName) (usage.LocalQueueUsage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := keyOf(name.Namespace, name.Name)
	q, known := r.snap.ClusterQueue(r.objects.clusterQueueOf(key))
	if r.usageTracker == nil || !known || !q.UsageBased {
		return usage.LocalQueueUsage{}, false
	}
	return r.usageTracker.LocalQueueUsage(key)
}
