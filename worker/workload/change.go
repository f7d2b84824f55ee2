package workload

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
)

// DeriveConditions sets the conditions that follow from the rest of the status: Admitted from the reservation and the states
// of the checks. Every writer of the admission part calls it before [switchyard.dev/worker/kube.ApplyAdmission], so that, for
// example, the controller that turns the last check Ready also admits the Workload, in the same write. It returns the events
// to record after that write.
func DeriveConditions(wl *kueue.Workload, now time.Time) []kube.Event {
	before := State(wl)
	after := lifecycle.DeriveConditions(before, now)
	if !before.Equal(after) {
		SetState(wl, after)
	}
	return admittedEvents(before, after, now)
}

func admittedEvents(before, after lifecycle.State, now time.Time) []kube.Event {
	if !lifecycle.BecameAdmitted(before, after) {
		return nil
	}
	return []kube.Event{{Reason: string(lifecycle.EventAdmitted), Note: lifecycle.AdmittedMessage(after, now)}}
}

// ReserveQuota records a reservation: the admission, QuotaReserved=True with the message, an entry for each check that applies
// (see [ApplicableChecks]), the end of an earlier eviction, and Admitted. It returns the events to record after the write,
// but not the one about the reservation itself, whose text only the scheduler knows.
func ReserveQuota(wl *kueue.Workload, a *kueue.Admission, checks []string, message string, now time.Time) []kube.Event {
	before := State(wl)
	after := lifecycle.Reserve(before, *convertReservation(a), checks, message, now)
	SetState(wl, after)
	if after.Reservation != nil {
		wl.Status.Admission = a
	}
	return admittedEvents(before, after, now)
}

// ApplicableChecks returns the names, sorted, of the ClusterQueue's checks that apply to a workload with this admission:
// those without flavors of their own, and those with a flavor that was assigned (contract: kueue-api.md 4.13). Without an
// admission they are those that apply whatever flavors are assigned (contract: messages.md 5.2).
func ApplicableChecks(cq *kueue.ClusterQueue, a *kueue.Admission) []string {
	if cq.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	applies := func(rule kueue.AdmissionCheckStrategyRule) bool { return appliesToAllFlavors(cq, rule.OnFlavors) }
	if a != nil {
		assigned := convertReservation(a).Flavors
		applies = func(rule kueue.AdmissionCheckStrategyRule) bool {
			return len(rule.OnFlavors) == 0 || slices.ContainsFunc(rule.OnFlavors, func(f kueue.ResourceFlavorReference) bool {
				return slices.Contains(assigned, string(f))
			})
		}
	}
	var names []string
	for _, rule := range cq.Spec.AdmissionChecksStrategy.AdmissionChecks {
		if applies(rule) {
			names = append(names, string(rule.Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// appliesToAllFlavors tells whether a check is for all flavors of the ClusterQueue.
func appliesToAllFlavors(cq *kueue.ClusterQueue, on []kueue.ResourceFlavorReference) bool {
	for _, group := range cq.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			if len(on) > 0 && !slices.Contains(on, flavor.Name) {
				return false
			}
		}
	}
	return true
}

// SetPodsNotReady records, with a reservation or its end, that the pods of the Workload have not been ready yet (contract:
// kueue-api.md 1.13, PodsReady; messages.md 5.4): what was said in an earlier admission is about other pods. It is for
// engines that wait for pods only.
func SetPodsNotReady(wl *kueue.Workload, now time.Time) {
	was := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	if was != nil && was.Status == metav1.ConditionFalse && was.Reason == string(kueue.ReasonWaitForStart) {
		return
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadPodsReady, Status: metav1.ConditionFalse, Reason: string(kueue.ReasonWaitForStart),
		Message: "Not all pods are ready or succeeded", LastTransitionTime: metav1.NewTime(now), ObservedGeneration: wl.Generation,
	})
}

// SetPending records why a Workload without reservation has none: QuotaReserved=False. It reports whether that changed
// anything; a Workload that holds quota is left alone.
func SetPending(wl *kueue.Workload, reason admission.Reason, message string, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State {
		return lifecycle.SetPendingReason(s, reason, kube.Truncate(message, kube.MaxConditionMessage), now)
	})
}

// ExpectChecks gives a Workload that waits the entries of the checks that it will need whatever flavors it gets. It reports whether that
// changed anything; a Workload that holds quota is left alone.
func ExpectChecks(wl *kueue.Workload, checks []string, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State { return lifecycle.SyncExpectedChecks(s, checks, now) })
}

// Evict records an eviction and resets the checks; the quota stays reserved until [Release]. It reports whether that
// changed anything.
func Evict(wl *kueue.Workload, e lifecycle.Eviction, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State { return lifecycle.Evict(s, e, now) })
}

// ReleaseQuota gives back the quota of an evicted Workload whose job does not run any more, and says when it may queue again
// (contract: kueue-api.md 4.11). It reports whether that changed anything: a Workload that is not evicted, or holds
// nothing, is left alone.
func ReleaseQuota(wl *kueue.Workload, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State { return lifecycle.Release(s, now) })
}

// Hold records that the job of the Workload asks for nothing now, in the job's words, and takes what the Workload holds. It does not
// queue until [Resume]. It reports whether that changed anything.
func Hold(wl *kueue.Workload, message string, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State {
		return lifecycle.Hold(s, kube.Truncate(message, kube.MaxConditionMessage), now)
	})
}

// Resume lets a Workload queue again whose job asks for something now. It reports whether that changed anything.
func Resume(wl *kueue.Workload, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State { return lifecycle.Resume(s, now) })
}

// ReleaseForGood is ReleaseQuota for the Workload of a single pod that was stopped.
func ReleaseForGood(wl *kueue.Workload, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State { return lifecycle.ReleaseForGood(s, now) })
}

// Finish records for good how the job ended. It reports whether that changed anything: the first outcome stays.
func Finish(wl *kueue.Workload, reason kueue.Reason, message string, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State {
		return lifecycle.Finish(s, admission.Reason(reason), kube.Truncate(message, kube.MaxConditionMessage), now)
	})
}

func updateState(wl *kueue.Workload, by func(lifecycle.State) lifecycle.State) bool {
	before := State(wl)
	after := by(before)
	if before.Equal(after) {
		return false
	}
	SetState(wl, after)
	return true
}

// SetAdmissionCheck sets state and message of an admission check that has an entry, and reports whether that changed anything. The
// transition time moves only with the state. Call [Derive] afterwards.
func SetAdmissionCheck(wl *kueue.Workload, name kueue.AdmissionCheckReference, state kueue.CheckState, message string, now time.Time) bool {
	entry := FindAdmissionCheck(wl, name)
	message = kube.Truncate(message, kube.MaxConditionMessage)
	if entry == nil || entry.State == state && entry.Message == message {
		return false
	}
	if entry.State != state {
		entry.LastTransitionTime = metav1.NewTime(now)
	}
	entry.State, entry.Message = state, message
	return true
}
