package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/admission/usage"
)

// QueueShare returns the ClusterQueue's share of what its cohort could lend (contract: kueue-api.md 4.8).
func (v *View) QueueShare(queue string) quota.Share {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.snap.QueueShare(queue)
}

// CohortsAbove lists the cohorts above a ClusterQueue, nearest first.
func (v *View) CohortsAbove(queue string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.snap.AncestorCohorts(queue)
}

// CohortStatus returns how a cohort stands; false when there is no such object and none names it.
func (v *View) CohortStatus(name string) (admission.CohortStatus, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.snap.Cohort(name)
}

// CohortStatuses returns how all cohorts stand, by name, those without an object included.
func (v *View) CohortStatuses() []admission.CohortStatus {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.snap.Cohorts()
}

// PendingCounts counts the pending workloads of all queues at once. Workloads of a LocalQueue that is closed do not count.
func (v *View) PendingCounts() admission.PendingCounts {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.snap.PendingCounts(v.isLocalQueueStopped)
}

// isLocalQueueStopped tells whether a LocalQueue is not there, going, or stopped. What came through it waits in no queue (contract:
// messages.md 5.8, 6.1).
func (v *View) isLocalQueueStopped(local admission.Key) bool {
	lq := v.localQueues[local]
	return lq == nil || lq.isStopped()
}

func (lq *localQueue) isStopped() bool {
	return !lq.obj.DeletionTimestamp.IsZero() || lq.obj.Spec.StopPolicy.Stops()
}

// countPendingInStopped counts the pending workloads of a ClusterQueue that came through a LocalQueue that is closed.
func (v *View) countPendingInStopped(queue string) int {
	n := 0
	for key, lq := range v.localQueuesByClusterQueue[queue] {
		if lq.isStopped() {
			n += v.snap.LocalQueueStatus(key, "").Pending
		}
	}
	return n
}

// ClusterQueueOf returns the ClusterQueue that a LocalQueue points to; empty when the LocalQueue is not known.
func (v *View) ClusterQueueOf(name types.NamespacedName) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.clusterQueueOf(keyOf(name.Namespace, name.Name))
}

func (v *View) clusterQueueOf(local admission.Key) string {
	if lq := v.localQueues[local]; lq != nil {
		return string(lq.obj.Spec.ClusterQueue)
	}
	return ""
}

// WorkloadInQueue is a Workload and the ClusterQueue that it has quota in or waits in; the queue is empty if there is none. The
// Workload is shared: make a copy before changing it.
type WorkloadInQueue struct {
	Workload *kueue.Workload
	Queue    string
	// QueueInactive is whether its LocalQueue is not there, going or stopped, or leads to a ClusterQueue that is not there.
	QueueInactive bool
}

// Workloads lists all workloads, in no order. Only pointers are copied while the mutex is held, since the scheduler waits for
// it; the rest is read afterwards, of objects that are never changed.
func (v *View) Workloads() []WorkloadInQueue {
	list, behind := v.listWorkloads()
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

// localQueueTarget is the ClusterQueue behind a LocalQueue, and whether the way there is closed.
type localQueueTarget struct {
	clusterQueue string
	inactive     bool
}

// listWorkloads lists the workloads without their queues, and which ClusterQueue is behind which LocalQueue.
func (v *View) listWorkloads() ([]WorkloadInQueue, map[admission.Key]localQueueTarget) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]WorkloadInQueue, 0, len(v.workloads))
	for _, w := range v.workloads {
		list = append(list, WorkloadInQueue{Workload: w.obj})
	}
	behind := make(map[admission.Key]localQueueTarget, len(v.localQueues))
	for key, lq := range v.localQueues {
		queue := string(lq.obj.Spec.ClusterQueue)
		behind[key] = localQueueTarget{clusterQueue: queue, inactive: lq.isStopped() || v.clusterQueues[queue] == nil}
	}
	return list, behind
}

// PendingWorkload is a Workload that waits in a ClusterQueue. It is shared: make a copy before changing it.
type PendingWorkload struct {
	Workload *kueue.Workload
	Queue    string
	// Active is false for one that is inadmissible or waits for its backoff to end.
	Active bool
}

// PendingWorkloads lists the pending workloads, in no order, without those that came through a LocalQueue that is closed. It
// is for a scrape that has to tell them apart.
func (v *View) PendingWorkloads() []PendingWorkload {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []PendingWorkload
	for _, w := range v.workloads {
		if waiter := v.snap.PendingWorkload(w.key()); waiter != nil && !v.isLocalQueueStopped(keyOf(w.obj.Namespace, string(w.obj.Spec.QueueName))) {
			list = append(list, PendingWorkload{Workload: w.obj, Queue: waiter.Queue, Active: waiter.IsActive()})
		}
	}
	return list
}

// ClusterQueueMetadata returns the labels and annotations of a ClusterQueue, nil if it is not known. They must not be changed.
func (v *View) ClusterQueueMetadata(name string) metav1.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cq := v.clusterQueues[name]; cq != nil {
		return cq.obj
	}
	return nil
}

// LocalQueueMetadata is the same for a LocalQueue.
func (v *View) LocalQueueMetadata(name types.NamespacedName) metav1.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	if lq := v.localQueues[keyOf(name.Namespace, name.Name)]; lq != nil {
		return lq.obj
	}
	return nil
}

// CohortMetadata is the same for a Cohort; nil also for one that is only named.
func (v *View) CohortMetadata(name string) metav1.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.cohorts[name]; c != nil {
		return c
	}
	return nil
}

// RecentUsage is what a LocalQueue has consumed lately, whether or not that decides about the order of workloads.
type RecentUsage struct {
	usage.LocalQueueUsage
	// Enabled tells whether recent usage is configured at all, and Known whether the queue's account has begun.
	Enabled, Known bool
}

// RecentUsage returns the recent usage of a LocalQueue.
func (v *View) RecentUsage(name types.NamespacedName) RecentUsage {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.usageTracker == nil {
		return RecentUsage{}
	}
	account, known := v.usageTracker.LocalQueueUsage(keyOf(name.Namespace, name.Name))
	return RecentUsage{LocalQueueUsage: account, Enabled: true, Known: known}
}

// OrderingUsage returns the recent usage of a LocalQueue whose ClusterQueue orders pending workloads by it; false for any
// other (contract: kueue-api.md 4.14).
func (v *View) OrderingUsage(name types.NamespacedName) (usage.LocalQueueUsage, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := keyOf(name.Namespace, name.Name)
	q, known := v.snap.ClusterQueue(v.clusterQueueOf(key))
	if v.usageTracker == nil || !known || !q.UsageBased {
		return usage.LocalQueueUsage{}, false
	}
	return v.usageTracker.LocalQueueUsage(key)
}
