package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// ObserveChange counts what is seen to happen to a workload, by any writer: a check's controller admits, a job's controller
// finishes, and several of the steps may have been one write.
func (m *Metrics) ObserveChange(was, is *kueue.Workload) {
	m.countEvicted(was, is)
	m.observeReleased(was, is)
	if workload.IsAdmitted(is) && !workload.IsAdmitted(was) {
		m.countAdmitted(is, workload.QueuedSince(was))
	}
	m.observeReady(was, is)
	if workload.IsFinished(is) && !workload.IsFinished(was) {
		m.countFinished(is)
	}
}

// ObserveCycle counts a cycle; one that had nothing to decide does not count.
func (m *Metrics) ObserveCycle(batch view.CycleResult, took time.Duration) {
	result := "success"
	switch {
	case len(batch.Admit) == 0 && len(batch.Preempt) == 0 && len(batch.Wait) == 0:
		return
	case len(batch.Admit) == 0:
		result = "inadmissible"
	}
	m.attempts.WithLabelValues(result).Inc()
	m.attemptDuration.WithLabelValues(result).Observe(took.Seconds())
	m.countOverlaps(batch.Overlaps)
}

// countOverlaps counts second searches for victims, and returns the heads that were skipped in this cycle.
func (m *Metrics) countOverlaps(list []admission.Overlap) {
	m.skipped.Reset()
	for _, o := range list {
		result := "success"
		if !o.Found {
			result = "failure"
			m.skipped.WithLabelValues(o.Queue).Inc()
		}
		if o.Recomputed {
			m.recomputed.WithLabelValues(o.Queue, result).Inc()
		}
	}
}

// ObserveReserved counts a reservation that has been written.
func (m *Metrics) ObserveReserved(wl, before *kueue.Workload, now time.Time) {
	class := priorityClass(wl)
	m.forEachQueue(wl, func(f *queueMetrics, queue ...string) {
		addToCounter(f.Reserved, 1, queue, class)
		observeDuration(f.ReservedWait, now.Sub(workload.QueuedSince(before)), queue, class)
	})
}

// countAdmitted counts an admission.
func (m *Metrics) countAdmitted(wl *kueue.Workload, queued time.Time) {
	class, now := priorityClass(wl), conditionSince(wl, kueue.WorkloadAdmitted)
	m.forEachQueue(wl, func(f *queueMetrics, queue ...string) {
		apart := append([]string{class}, f.workloadLabels.values(wl)...)
		addToCounter(f.Admitted, 1, queue, apart...)
		observeDuration(f.AdmittedWait, now.Sub(queued), queue, apart...)
		if reserved := conditionSince(wl, kueue.WorkloadQuotaReserved); !reserved.IsZero() {
			observeDuration(f.ChecksWait, now.Sub(reserved), queue, class)
		}
	})
	if wl.Status.Admission == nil {
		return
	}
	for _, cohort := range m.opts.CohortsAbove(string(wl.Status.Admission.ClusterQueue)) {
		m.admittedInCohort.WithLabelValues(cohort, class).Inc()
	}
}

// observeReady counts pods that are all ready for the first time since the admission.
func (m *Metrics) observeReady(was, is *kueue.Workload) {
	condition := meta.FindStatusCondition(is.Status.Conditions, kueue.WorkloadPodsReady)
	first := condition != nil && condition.Status == metav1.ConditionTrue && condition.Reason != string(kueue.ReasonRecovered)
	if !m.opts.PodsReady || !first || meta.IsStatusConditionTrue(was.Status.Conditions, kueue.WorkloadPodsReady) {
		return
	}
	class, now := priorityClass(is), condition.LastTransitionTime.Time
	m.forEachQueue(is, func(f *queueMetrics, queue ...string) {
		observeDuration(f.ReadyWait, now.Sub(workload.QueuedSince(is)), queue, class)
		if workload.IsAdmitted(is) {
			observeDuration(f.AdmittedReady, now.Sub(conditionSince(is, kueue.WorkloadAdmitted)), queue, class)
		}
	})
}

// countEvicted counts evictions by the difference of the workload's own counters, so that none is missed when it was requeued
// in between.
func (m *Metrics) countEvicted(was, is *kueue.Workload) {
	before := evictionStats(was)
	for _, e := range evictionStats(is) {
		reason, cause := e.Reason, e.UnderlyingCause
		more := e.Count
		for _, b := range before {
			if b.Reason == e.Reason && b.UnderlyingCause == e.UnderlyingCause {
				more -= b.Count
			}
		}
		if more <= 0 {
			continue
		}
		class := priorityClass(is)
		m.forEachQueue(versionWithQuota(was, is), func(f *queueMetrics, queue ...string) {
			addToCounter(f.Evicted, float64(more), queue, reason, cause, class)
			if more == e.Count { // the first for this reason and cause
				addToCounter(f.EvictedOnce, 1, queue, reason, cause, class)
			}
			if !meta.IsStatusConditionTrue(was.Status.Conditions, kueue.WorkloadPodsReady) {
				return
			}
			observeDuration(f.ReadyEvicted, conditionSince(is, kueue.WorkloadEvicted).Sub(conditionSince(was, kueue.WorkloadPodsReady)), queue, reason, cause)
		})
	}
}

func evictionStats(wl *kueue.Workload) []kueue.WorkloadSchedulingStatsEviction {
	if wl.Status.SchedulingStats == nil {
		return nil
	}
	return wl.Status.SchedulingStats.Evictions
}

// observeReleased measures how long an evicted workload kept its quota. Its reason names the cause of a deactivation too (contract:
// messages.md 2.3, 6.1).
func (m *Metrics) observeReleased(was, is *kueue.Workload) {
	evicted := meta.FindStatusCondition(is.Status.Conditions, kueue.WorkloadEvicted)
	if !workload.HasQuota(was) || workload.HasQuota(is) || evicted == nil || evicted.Status != metav1.ConditionTrue {
		return
	}
	took := conditionSince(is, kueue.WorkloadQuotaReserved).Sub(evicted.LastTransitionTime.Time)
	m.forEachQueue(was, func(f *queueMetrics, queue ...string) { observeDuration(f.Release, took, queue, evicted.Reason) })
}

// countFinished counts the end of a workload.
func (m *Metrics) countFinished(wl *kueue.Workload) {
	class := priorityClass(wl)
	took := time.Duration(ptr.Deref(wl.Status.AccumulatedPastExecutionTimeSeconds, 0)) * time.Second
	ran := took > 0
	if workload.IsAdmitted(wl) {
		took += conditionSince(wl, kueue.WorkloadFinished).Sub(conditionSince(wl, kueue.WorkloadAdmitted))
		ran = true
	}
	m.forEachQueue(wl, func(f *queueMetrics, queue ...string) {
		addToCounter(f.Finished, 1, queue, class)
		if ran {
			observeDuration(f.Execution, took, queue, class)
		}
	})
}

// CountPreempted counts a victim for which the eviction has been written.
func (m *Metrics) CountPreempted(preemptor string, because admission.Reason) {
	m.preempted.WithLabelValues(preemptor, string(because)).Inc()
}

// CountReplaced counts a slice of an elastic job that was finished because the next one was admitted to the queue.
func (m *Metrics) CountReplaced(queue string) { m.replaced.WithLabelValues(queue).Inc() }

// ObserveCreation measures how long a job of the kind waited for its Workload.
func (m *Metrics) ObserveCreation(kind string, latency time.Duration) {
	if m.opts.CreationLatency {
		m.creationLatency.WithLabelValues(kind).Observe(max(latency, 0).Seconds())
	}
}

// ObserveUngated measures how long a pod of an admitted Workload kept a scheduling gate, which is taken off now. That it was admitted is
// known to the second.
func (m *Metrics) ObserveUngated(wl *kueue.Workload, gate string, now time.Time) {
	if wl.Status.Admission == nil {
		return
	}
	queue := string(wl.Status.Admission.ClusterQueue)
	took := now.Sub(conditionSince(wl, kueue.WorkloadAdmitted))
	m.gateRemoval.WithLabelValues(queue, strconv.FormatBool(workload.IsGroup(wl)), gate).Observe(max(took, 0).Seconds())
}

// forEachQueue calls for the ClusterQueue that the workload has quota in, and for its LocalQueue if that is selected.
func (m *Metrics) forEachQueue(wl *kueue.Workload, do func(f *queueMetrics, queue ...string)) {
	if wl.Status.Admission != nil {
		do(&m.clusterQueues, string(wl.Status.Admission.ClusterQueue))
	}
	local := types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
	if m.opts.LocalQueues(local) {
		if _, known := m.localQueuesWithSeries.Load(local); !known {
			m.localQueuesWithSeries.Store(local, true)
		}
		do(&m.localQueues, local.Name, local.Namespace)
	}
}

// versionWithQuota is the one of the two versions that has quota, the earlier if both have.
func versionWithQuota(was, is *kueue.Workload) *kueue.Workload {
	if was.Status.Admission != nil {
		return was
	}
	return is
}

func addToCounter(c *prometheus.CounterVec, by float64, queue []string, labels ...string) {
	if c != nil {
		c.WithLabelValues(append(queue[:len(queue):len(queue)], labels...)...).Add(by)
	}
}

// observeDuration takes a negative duration for none: clocks and the seconds of the API are not exact.
func observeDuration(h *prometheus.HistogramVec, took time.Duration, queue []string, labels ...string) {
	if h != nil {
		h.WithLabelValues(append(queue[:len(queue):len(queue)], labels...)...).Observe(max(took, 0).Seconds())
	}
}

// conditionSince is when the condition took its status; zero when there is none.
func conditionSince(wl *kueue.Workload, condition string) time.Time {
	if c := meta.FindStatusCondition(wl.Status.Conditions, condition); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

func priorityClass(wl *kueue.Workload) string {
	if wl.Spec.PriorityClassRef == nil {
		return ""
	}
	return wl.Spec.PriorityClassRef.Name
}
