package workload

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// IsRemoteCopy tells whether the Workload was made by a hub, which decides about its priority and its end.
func IsRemoteCopy(wl *kueue.Workload) bool { return wl.Labels[kueue.MultiKueueOriginLabel] != "" }

// IsFinished tells whether the job has ended; nothing happens to such a Workload any more.
func IsFinished(wl *kueue.Workload) bool { return isTrue(wl, kueue.WorkloadFinished) }

// IsAdmitted tells whether quota is reserved and every gate is open: the job may run.
func IsAdmitted(wl *kueue.Workload) bool { return isTrue(wl, kueue.WorkloadAdmitted) }

// IsEvicted tells whether the Workload was evicted since its last reservation. Together with [HasQuota] it means that the
// job must stop and the quota be released.
func IsEvicted(wl *kueue.Workload) bool { return isTrue(wl, kueue.WorkloadEvicted) }

// HasQuota tells whether quota is reserved, admitted or not.
func HasQuota(wl *kueue.Workload) bool {
	return wl.Status.Admission != nil && isTrue(wl, kueue.WorkloadQuotaReserved)
}

// IsActive tells whether the Workload may be queued and run at all (spec.active).
func IsActive(wl *kueue.Workload) bool { return ptr.Deref(wl.Spec.Active, true) }

// IsOnHold tells whether the job asks for nothing now (see [Hold]): the Workload does not queue.
func IsOnHold(wl *kueue.Workload) bool {
	c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	return wl.Status.Admission == nil && c != nil && c.Status == metav1.ConditionFalse && c.Reason == string(kueue.ReasonOnHold)
}

// ArePodsReady tells whether all pods have been ready since the Workload was admitted, and are now or have succeeded. What
// was said in an earlier admission does not count (contract: kueue-api.md 4.15, blockAdmission).
func ArePodsReady(wl *kueue.Workload) bool {
	ready := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	admitted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
	return ready != nil && ready.Status == metav1.ConditionTrue && admitted != nil && admitted.Status == metav1.ConditionTrue &&
		!ready.LastTransitionTime.Before(&admitted.LastTransitionTime)
}

func isTrue(wl *kueue.Workload, condition string) bool {
	return meta.IsStatusConditionTrue(wl.Status.Conditions, condition)
}

// StatusClass is the status class of a Workload in metrics and command line output (contract: kueue-api.md 1.13).
type StatusClass string

// The status classes, in the order of precedence.
const (
	Finished      StatusClass = "finished"
	Admitted      StatusClass = "admitted"
	QuotaReserved StatusClass = "quotaReserved"
	Pending       StatusClass = "pending"
)

// StatusClassOf returns the Workload's status class.
func StatusClassOf(wl *kueue.Workload) StatusClass {
	switch {
	case IsFinished(wl):
		return Finished
	case IsAdmitted(wl):
		return Admitted
	case HasQuota(wl):
		return QuotaReserved
	default:
		return Pending
	}
}

// MayQueue tells whether nothing in the Workload itself keeps it from being considered for quota: it is active, not
// finished, holds no quota, is neither gated nor on hold and waits neither for a trigger after an eviction nor for pods of its group. The
// backoff of status.requeueState is a time and not part of this (contract: kueue-api.md 4.10, last line).
func MayQueue(wl *kueue.Workload) bool {
	return wl.DeletionTimestamp.IsZero() && IsActive(wl) && !IsFinished(wl) && !HasQuota(wl) && !IsOnHold(wl) && len(AdmissionGates(wl)) == 0 &&
		!meta.IsStatusConditionFalse(wl.Status.Conditions, kueue.WorkloadRequeued) && !WaitsForPods(wl)
}

// WaitsForPods tells whether pods of the group have to be replaced before the Workload is queued again (contract: job-kinds.md 10.5).
func WaitsForPods(wl *kueue.Workload) bool {
	return isTrue(wl, kueue.WorkloadWaitingForReplacementPods)
}

// AdmissionGates returns the names in the annotation admission-gated-by, sorted, each once; none when it is absent or empty.
func AdmissionGates(wl *kueue.Workload) []string {
	var gates []string
	for name := range strings.SplitSeq(wl.Annotations[kueue.AdmissionGatedByAnnotation], ",") {
		if name = strings.TrimSpace(name); name != "" {
			gates = append(gates, name)
		}
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

// FindAdmissionCheck returns the entry of an admission check in the Workload's status; nil when it has none. The result points into wl.
func FindAdmissionCheck(wl *kueue.Workload, name kueue.AdmissionCheckReference) *kueue.AdmissionCheckState {
	for i := range wl.Status.AdmissionChecks {
		if wl.Status.AdmissionChecks[i].Name == name {
			return &wl.Status.AdmissionChecks[i]
		}
	}
	return nil
}

// CountEvictions counts how often the Workload was evicted: by the counters of its status, or at least once if it has a condition
// that says so.
func CountEvictions(wl *kueue.Workload) int64 {
	var count int64
	if wl.Status.SchedulingStats != nil {
		for _, e := range wl.Status.SchedulingStats.Evictions {
			count += int64(e.Count)
		}
	}
	if count == 0 && meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted) != nil {
		return 1
	}
	return count
}

// QueuedSince is when the workload was queued last: created, or requeued after an eviction.
func QueuedSince(wl *kueue.Workload) time.Time {
	requeued := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadRequeued)
	if requeued != nil && requeued.Status == metav1.ConditionTrue {
		return requeued.LastTransitionTime.Time
	}
	return wl.CreationTimestamp.Time
}
