package act

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

const eventEvictedDueTo = "EvictedDueTo"

// attempt counts a cycle; one that had nothing to decide does not count.
func (m *Metrics) attempt(batch view.Batch, took time.Duration) {
	result := "success"
	switch {
	case len(batch.Admit) == 0 && len(batch.Wait) == 0:
		return
	case len(batch.Admit) == 0:
		result = "inadmissible"
	}
	m.attempts.WithLabelValues(result).Inc()
	m.attemptDuration.WithLabelValues(result).Observe(took.Seconds())
}

// changed counts admissions and ends as they are seen, whoever wrote them: a check's controller admits too.
func (m *Metrics) changed(was, is *kueue.Workload) {
	if admitted := meta.FindStatusCondition(is.Status.Conditions, kueue.WorkloadAdmitted); workload.IsAdmitted(is) && !workload.IsAdmitted(was) {
		m.admitted(is, queuedSince(was), admitted.LastTransitionTime.Time)
	}
	if workload.IsFinished(is) && !workload.IsFinished(was) {
		m.finished(is)
	}
}

// reserved counts a reservation that has been written.
func (m *Metrics) reserved(wl, before *kueue.Workload, now time.Time) {
	waited := now.Sub(queuedSince(before)).Seconds()
	m.each(wl, func(f families, labels ...string) {
		labels = append(labels, priorityClass(wl))
		f.Reserved.WithLabelValues(labels...).Inc()
		f.ReservedWait.WithLabelValues(labels...).Observe(waited)
	})
}

// admitted counts an admission.
func (m *Metrics) admitted(wl *kueue.Workload, queued, now time.Time) {
	m.each(wl, func(f families, labels ...string) {
		labels = append(labels, priorityClass(wl))
		f.Admitted.WithLabelValues(labels...).Inc()
		f.AdmittedWait.WithLabelValues(labels...).Observe(max(now.Sub(queued), 0).Seconds())
		if reserved := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); reserved != nil {
			f.ChecksWait.WithLabelValues(labels...).Observe(max(now.Sub(reserved.LastTransitionTime.Time), 0).Seconds())
		}
	})
}

// Lived counts what the lifecycle has written about a Workload; wl is what it was before.
func (m *Metrics) Lived(wl *kueue.Workload, because []lifecycle.Because) {
	for _, b := range because {
		if reason, ok := strings.CutPrefix(string(b.Reason), eventEvictedDueTo); ok {
			m.Evicted(wl, kueue.Reason(reason))
		}
	}
}

// Evicted counts an eviction; wl is the Workload before it, so that a first eviction is known as one.
func (m *Metrics) Evicted(wl *kueue.Workload, evicted kueue.Reason) {
	reason, cause := lifecycle.Split(admission.Reason(evicted))
	m.each(wl, func(f families, labels ...string) {
		labels = append(labels, string(reason), cause, priorityClass(wl))
		f.Evicted.WithLabelValues(labels...).Inc()
		first := wl.Status.SchedulingStats == nil || len(wl.Status.SchedulingStats.Evictions) == 0
		if f.EvictedOnce != nil && first {
			f.EvictedOnce.WithLabelValues(labels...).Inc()
		}
	})
}

// finished counts the end of a workload.
func (m *Metrics) finished(wl *kueue.Workload) {
	m.each(wl, func(f families, labels ...string) {
		labels = append(labels, priorityClass(wl))
		f.Finished.WithLabelValues(labels...).Inc()
		admitted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
		finished := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
		if admitted != nil && admitted.Status == metav1.ConditionTrue && finished != nil {
			took := finished.LastTransitionTime.Sub(admitted.LastTransitionTime.Time)
			f.Execution.WithLabelValues(labels...).Observe(max(took, 0).Seconds())
		}
	})
}

// DropClusterQueue removes the series of a ClusterQueue that is gone.
func (m *Metrics) DropClusterQueue(name string) {
	m.cluster.drop(prometheus.Labels{"cluster_queue": name})
}

// DropLocalQueue removes the series of a LocalQueue that is gone.
func (m *Metrics) DropLocalQueue(key types.NamespacedName) {
	m.local.drop(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}

// each calls count for the ClusterQueue that the workload has quota in, and for its LocalQueue if that is selected.
func (m *Metrics) each(wl *kueue.Workload, count func(f families, queue ...string)) {
	if wl.Status.Admission != nil {
		count(m.cluster, string(wl.Status.Admission.ClusterQueue))
	}
	local := types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
	if m.localQueues(local) {
		count(m.local, local.Name, local.Namespace)
	}
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
