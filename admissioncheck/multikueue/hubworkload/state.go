package hubworkload

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// DecodeState returns the State that is stored on the Workload.
func DecodeState(wl *kueue.Workload) dispatch.State {
	var record *dispatch.Record
	if c := meta.FindStatusCondition(wl.Status.Conditions, dispatch.ConditionType); c != nil {
		record = &dispatch.Record{
			Owed: c.Status == metav1.ConditionTrue, ObservedGeneration: c.ObservedGeneration, Reason: c.Reason, Message: c.Message,
		}
	}
	return dispatch.Decode(record, wl.Status.NominatedClusterNames, ptr.Deref(wl.Status.ClusterName, ""))
}

// SetState stores a State on the Workload: nominated and bound in their fields, the rest in one condition.
func SetState(wl *kueue.Workload, s dispatch.State, now time.Time) {
	wl.Status.NominatedClusterNames = s.Nominated
	wl.Status.ClusterName = nil
	if s.Bound != "" {
		wl.Status.ClusterName = ptr.To(s.Bound)
	}
	record, ok := dispatch.Encode(s)
	if !ok {
		meta.RemoveStatusCondition(&wl.Status.Conditions, dispatch.ConditionType)
		return
	}
	status := metav1.ConditionFalse
	if record.Owed {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: dispatch.ConditionType, Status: status, Reason: record.Reason, Message: record.Message,
		ObservedGeneration: record.ObservedGeneration, LastTransitionTime: metav1.NewTime(now),
	})
}

// FinishedAt returns when the Workload has finished, by the clock of whoever has recorded it; zero if it has not.
func FinishedAt(wl *kueue.Workload) time.Time {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c != nil && c.Status == metav1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
