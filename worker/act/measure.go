package act

import (
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

// Changed counts what is seen to happen to a workload, whoever wrote it: a check's controller admits, a job's controller
// finishes, and several of the steps may have been one write.
func (m *Metrics) Changed(was, is *kueue.Workload) {
	m.evicted(was, is)
	m.released(was, is)
	if workload.IsAdmitted(is) && !workload.IsAdmitted(was) {
		m.admitted(is, queuedSince(was))
	}
	m.ready(was, is)
	if workload.IsFinished(is) && !workload.IsFinished(was) {
		m.finished(is)
	}
}

// attempt counts a cycle; one that had nothing to decide does not count.
func (m *Metrics) attempt(batch view.Batch, took time.Duration) {
	result := "success"
	switch {
	case len(batch.Admit) == 0 && len(batch.Preempt) == 0 && len(batch.Wait) == 0:
		return
	case len(batch.Admit) == 0:
		result = "inadmissible"
	}
	m.attempts.WithLabelValues(result).Inc()
	m.attemptDuration.WithLabelValues(result).Observe(took.Seconds())
	m.overlaps(batch.Overlaps)
}

// overlaps counts second searches for victims, and says who was skipped in this cycle.
func (m *Metrics) overlaps(list []admission.Overlap) {
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

// reserved counts a reservation that has been written.
func (m *Metrics) reserved(wl, before *kueue.Workload, now time.Time) {
	class := priorityClass(wl)
	m.each(wl, func(f *families, queue ...string) {
		count(f.Reserved, 1, queue, class)
		observe(f.ReservedWait, now.Sub(queuedSince(before)), queue, class)
	})
}

// admitted counts an admission.
func (m *Metrics) admitted(wl *kueue.Workload, queued time.Time) {
	class, now := priorityClass(wl), since(wl, kueue.WorkloadAdmitted)
	m.each(wl, func(f *families, queue ...string) {
		apart := append([]string{class}, f.ofWorkloads.values(wl)...)
		count(f.Admitted, 1, queue, apart...)
		observe(f.AdmittedWait, now.Sub(queued), queue, apart...)
		if reserved := since(wl, kueue.WorkloadQuotaReserved); !reserved.IsZero() {
			observe(f.ChecksWait, now.Sub(reserved), queue, class)
		}
	})
	if wl.Status.Admission == nil {
		return
	}
	for _, cohort := range m.opts.CohortsAbove(string(wl.Status.Admission.ClusterQueue)) {
		m.admittedInCohort.WithLabelValues(cohort, class).Inc()
	}
}

// ready counts pods that are all ready for the first time since the admission.
func (m *Metrics) ready(was, is *kueue.Workload) {
	condition := meta.FindStatusCondition(is.Status.Conditions, kueue.WorkloadPodsReady)
	first := condition != nil && condition.Status == metav1.ConditionTrue && condition.Reason != string(kueue.ReasonRecovered)
	if !m.opts.PodsReady || !first || meta.IsStatusConditionTrue(was.Status.Conditions, kueue.WorkloadPodsReady) {
		return
	}
	class, now := priorityClass(is), condition.LastTransitionTime.Time
	m.each(is, func(f *families, queue ...string) {
		observe(f.ReadyWait, now.Sub(queuedSince(is)), queue, class)
		if workload.IsAdmitted(is) {
			observe(f.AdmittedReady, now.Sub(since(is, kueue.WorkloadAdmitted)), queue, class)
		}
	})
}

// evicted counts evictions by the difference of the workload's own counters, so that none is missed when it was requeued
// before anybody looked.
func (m *Metrics) evicted(was, is *kueue.Workload) {
	before := evictions(was)
	for _, e := range evictions(is) {
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
		m.each(holding(was, is), func(f *families, queue ...string) {
			count(f.Evicted, float64(more), queue, reason, cause, class)
			if more == e.Count { // the first for this reason and cause
				count(f.EvictedOnce, 1, queue, reason, cause, class)
			}
			if !meta.IsStatusConditionTrue(was.Status.Conditions, kueue.WorkloadPodsReady) {
				return
			}
			observe(f.ReadyEvicted, since(is, kueue.WorkloadEvicted).Sub(since(was, kueue.WorkloadPodsReady)), queue, reason, cause)
		})
	}
}

func evictions(wl *kueue.Workload) []kueue.WorkloadSchedulingStatsEviction {
	if wl.Status.SchedulingStats == nil {
		return nil
	}
	return wl.Status.SchedulingStats.Evictions
}

// released measures how long an evicted workload kept its quota. Its reason names the cause of a deactivation too (contract:
// messages.md 2.3, 6.1).
func (m *Metrics) released(was, is *kueue.Workload) {
	evicted := meta.FindStatusCondition(is.Status.Conditions, kueue.WorkloadEvicted)
	if !workload.HasQuota(was) || workload.HasQuota(is) || evicted == nil || evicted.Status != metav1.ConditionTrue {
		return
	}
	took := since(is, kueue.WorkloadQuotaReserved).Sub(evicted.LastTransitionTime.Time)
	m.each(was, func(f *families, queue ...string) { observe(f.Release, took, queue, evicted.Reason) })
}

// finished counts the end of a workload.
func (m *Metrics) finished(wl *kueue.Workload) {
	class := priorityClass(wl)
	took := time.Duration(ptr.Deref(wl.Status.AccumulatedPastExecutionTimeSeconds, 0)) * time.Second
	ran := took > 0
	if workload.IsAdmitted(wl) {
		took += since(wl, kueue.WorkloadFinished).Sub(since(wl, kueue.WorkloadAdmitted))
		ran = true
	}
	m.each(wl, func(f *families, queue ...string) {
		count(f.Finished, 1, queue, class)
		if ran {
			observe(f.Execution, took, queue, class)
		}
	})
}

// Preempted counts a victim for which the eviction has been written.
func (m *Metrics) Preempted(preemptor string, because admission.Reason) {
	m.preempted.WithLabelValues(preemptor, string(because)).Inc()
}

// Created measures how long a job of the kind waited for its Workload.
func (m *Metrics) Created(kind string, latency time.Duration) {
	if m.opts.CreationLatency {
		m.creation.WithLabelValues(kind).Observe(max(latency, 0).Seconds())
	}
}

// each calls for the ClusterQueue that the workload has quota in, and for its LocalQueue if that is selected.
func (m *Metrics) each(wl *kueue.Workload, do func(f *families, queue ...string)) {
	if wl.Status.Admission != nil {
		do(&m.cluster, string(wl.Status.Admission.ClusterQueue))
	}
	local := types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
	if m.opts.LocalQueues(local) {
		if _, known := m.counted.Load(local); !known {
			m.counted.Store(local, true)
		}
		do(&m.local, local.Name, local.Namespace)
	}
}

// holding is the one of the two versions that has quota, the earlier if both have.
func holding(was, is *kueue.Workload) *kueue.Workload {
	if was.Status.Admission != nil {
		return was
	}
	return is
}

func count(c *prometheus.CounterVec, by float64, queue []string, labels ...string) {
	if c != nil {
		c.WithLabelValues(append(queue[:len(queue):len(queue)], labels...)...).Add(by)
	}
}

// observe takes a negative duration for none: clocks and the seconds of the API are not exact.
func observe(h *prometheus.HistogramVec, took time.Duration, queue []string, labels ...string) {
	if h != nil {
		h.WithLabelValues(append(queue[:len(queue):len(queue)], labels...)...).Observe(max(took, 0).Seconds())
	}
}

// since is when the condition took its status; zero when there is none.
func since(wl *kueue.Workload, condition string) time.Time {
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

// queuedSince is when the workload was queued last: created, or requeued after an eviction.
func queuedSince(wl *kueue.Workload) time.Time {
	requeued := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadRequeued)
	if requeued != nil && requeued.Status == metav1.ConditionTrue {
		return requeued.LastTransitionTime.Time
	}
	return wl.CreationTimestamp.Time
}
