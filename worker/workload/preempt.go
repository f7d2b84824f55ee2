package workload

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
)

// Preemptor is the Workload for which others are evicted, and its ClusterQueue.
type Preemptor struct {
	Workload *kueue.Workload
	Queue    string
}

// Preempt evicts the victim in favour of the preemptor: Evicted and Preempted with their reasons, the counter of evictions,
// checks reset, and, for a Workload that nobody owns, the release of its quota, all for one write (contract: kueue-api.md
// 4.11). Because is one of the reasons of Preempted. It returns the events to record about the victim after that write;
// none if there is nothing to write, because the victim has finished, holds no quota or is leaving already.
func Preempt(victim *kueue.Workload, by Preemptor, because admission.Reason, now time.Time) []kube.Event {
	if !HasQuota(victim) || IsEvicted(victim) {
		return nil
	}
	message := preemptedMessage(by, because)
	eviction := lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption, Message: message, PreemptedBecause: because}
	owned := metav1.GetControllerOfNoCopy(victim) != nil
	changed := change(victim, func(s lifecycle.State) lifecycle.State {
		s = lifecycle.Evict(s, eviction, now)
		if owned {
			return s
		}
		return lifecycle.Release(s, now)
	})
	if !changed {
		return nil
	}
	return []kube.Event{
		{Reason: kueue.EventEvictedDueTo(kueue.ReasonPreempted), Note: message},
		{Reason: string(kueue.ReasonPreempted), Note: message, Related: by.Workload},
	}
}

// PreemptedWorkload is the event about the preemptor, one for each victim whose eviction was written (contract:
// kueue-api.md 1.14).
func PreemptedWorkload(victim *kueue.Workload, queue string, because admission.Reason) kube.Event {
	note := fmt.Sprintf("Evicted workload %s/%s (%s) of ClusterQueue %s: %s", victim.Namespace, victim.Name, identity(victim), queue, benefit(because))
	return kube.Event{Reason: kueue.EventPreemptedWorkload, Note: note, Related: victim}
}

func preemptedMessage(by Preemptor, because admission.Reason) string {
	return fmt.Sprintf("Preempted for workload %s/%s (%s) of ClusterQueue %s: %s",
		by.Workload.Namespace, by.Workload.Name, identity(by.Workload), by.Queue, benefit(because))
}

// identity names the Workload and its job by their UIDs, which outlive their names in logs.
func identity(wl *kueue.Workload) string {
	text := "UID " + string(wl.UID)
	if job := wl.Labels[kueue.JobUIDLabel]; job != "" {
		text += ", job UID " + job
	}
	return text
}

// benefit says what a preemption is good for.
func benefit(because admission.Reason) string {
	switch because {
	case admission.InClusterQueue:
		return "it goes before others of its ClusterQueue"
	case admission.InCohortReclamation:
		return "its ClusterQueue takes back quota that it has lent to the cohort"
	case admission.InCohortFairSharing:
		return "its ClusterQueue has less than its fair share of the cohort"
	case admission.InCohortReclaimWhileBorrowing:
		return "it has the higher priority, and both borrow from the cohort"
	default:
		return string(because)
	}
}

// ClosedGates returns the names, sorted, of the Workload's preemption gates that are not open: as long as there is one, it
// must not preempt (contract: kueue-api.md 1.2, spec.preemptionGates). A gate without position is closed.
func ClosedGates(wl *kueue.Workload) []string {
	var closed []string
	for _, gate := range wl.Spec.PreemptionGates {
		open := slices.ContainsFunc(wl.Status.PreemptionGates, func(s kueue.PreemptionGateState) bool {
			return s.Name == gate.Name && s.Position == kueue.GateOpen
		})
		if !open {
			closed = append(closed, gate.Name)
		}
	}
	slices.Sort(closed)
	return closed
}

// SetBlockedOnGates records, as BlockedOnPreemptionGates=True, that the Workload could be admitted by a preemption that a
// closed gate forbids, in the contract's words (contract: multikueue.md 8). Which gates are closed is in the status anyway. It
// reports whether that changed anything. The next reservation or eviction takes it back.
func SetBlockedOnGates(wl *kueue.Workload, now time.Time) bool {
	const message = "Workload requires preemption, but it's gated"
	return change(wl, func(s lifecycle.State) lifecycle.State { return lifecycle.Block(s, message, now) })
}

// IsBlockedOnGates tells whether closed gates are what keeps the Workload from preempting.
func IsBlockedOnGates(wl *kueue.Workload) bool {
	return meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadBlockedOnPreemptionGates)
}
