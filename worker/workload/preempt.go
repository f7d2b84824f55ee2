package workload

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
)

// Preemption is one workload that must leave for another.
type Preemption struct {
	// Preemptor is the Workload that needs the quota.
	Preemptor *kueue.Workload
	// Reason is one of the reasons of Preempted.
	Reason admission.Reason
	// Queue is the ClusterQueue of the victim.
	Queue string
	// VictimPath and ForPath lead from the root of the cohorts to the victim's ClusterQueue and to that of For, such as /org/team/cq.
	VictimPath, PreemptorPath string
	// PriorityBoost tells whether priority boosts count (gate PriorityBoost).
	PriorityBoost bool
}

// Preempt evicts the victim in favour of the preemptor: Evicted and Preempted with their reasons, the counter of evictions,
// checks reset, and, for a hub's copy that no job has taken up, the release of its quota, all for one write (contract:
// kueue-api.md 4.11). The quota of other Workloads is given back by their owner, or by what plays it (see
// lifecycle.Policy.OwnerGrace). It returns the events to record about the victim after that write; none if there is nothing
// to write, because the victim has finished, holds no quota or is leaving already.
func Preempt(victim *kueue.Workload, p Preemption, now time.Time) []kube.Event {
	if !HasQuota(victim) || IsEvicted(victim) {
		return nil
	}
	message := p.message()
	eviction := lifecycle.Eviction{Reason: lifecycle.EvictedByPreemption, Message: message, PreemptionReason: p.Reason}
	owned := HasOwner(victim) || !IsRemoteCopy(victim)
	changed := updateState(victim, func(s lifecycle.State) lifecycle.State {
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
		{Reason: string(kueue.ReasonPreempted), Note: message + p.priorities(victim)},
	}
}

// PreemptedWorkloadEvent is the event about the preemptor, one for each victim whose eviction was written (contract:
// messages.md 2.4).
func PreemptedWorkloadEvent(victim *kueue.Workload, p Preemption) kube.Event {
	note := fmt.Sprintf("Preempted workload %s/%s (UID: %s) in ClusterQueue %s", victim.Namespace, victim.Name, victim.UID, p.Queue)
	return kube.Event{Reason: kueue.EventPreemptedWorkload, Note: note + p.priorities(victim)}
}

// message is the text of Evicted and Preempted.
func (p Preemption) message() string {
	return fmt.Sprintf("Preempted to accommodate a workload (UID: %s, JobUID: %s) due to %s; preemptor path: %s; preemptee path: %s",
		orUnknown(string(p.Preemptor.UID)), orUnknown(p.Preemptor.Labels[kueue.JobUIDLabel]), describeReason(p.Reason), p.PreemptorPath, p.VictimPath)
}

// priorities is how the events about a preemption end.
func (p Preemption) priorities(victim *kueue.Workload) string {
	return "; preemptor " + p.priority(p.Preemptor) + "; preemptee " + p.priority(victim)
}

func (p Preemption) priority(wl *kueue.Workload) string {
	effective, base := Priority(wl, p.PriorityBoost), Priority(wl, false)
	return fmt.Sprintf("effective priority: %d (base: %d, boost: %d)", effective, base, int64(effective)-int64(base))
}

func orUnknown(id string) string {
	if id == "" {
		return "UNKNOWN"
	}
	return id
}

// describeReason says in words what a preemption is for.
func describeReason(because admission.Reason) string {
	switch because {
	case admission.InClusterQueue:
		return "prioritization in the ClusterQueue"
	case admission.InCohortReclamation:
		return "reclamation within the cohort"
	case admission.InCohortFairSharing:
		return "Fair Sharing within the cohort"
	case admission.InCohortReclaimWhileBorrowing:
		return "reclamation within the cohort while borrowing"
	default:
		return string(because)
	}
}

// ClosedPreemptionGates returns the names, sorted, of the Workload's preemption gates that are not open: as long as there is one, it
// must not preempt (contract: kueue-api.md 1.2, spec.preemptionGates). A gate without position is closed.
func ClosedPreemptionGates(wl *kueue.Workload) []string {
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

// PreemptionGatedMessage is what a Workload is told whose preemption gates are closed (contract: messages.md 1.2).
const PreemptionGatedMessage = "Workload requires preemption, but it's gated"

// SetBlockedOnPreemptionGates records, as BlockedOnPreemptionGates=True, that the Workload could be admitted by a preemption that a
// closed gate forbids, in the contract's words (contract: multikueue.md 8). Which gates are closed is in the status anyway. It
// reports whether that changed anything. The next reservation or eviction takes it back.
func SetBlockedOnPreemptionGates(wl *kueue.Workload, now time.Time) bool {
	return updateState(wl, func(s lifecycle.State) lifecycle.State {
		return lifecycle.SetBlockedOnPreemptionGates(s, PreemptionGatedMessage, now)
	})
}

// IsBlockedOnPreemptionGates tells whether closed gates are what keeps the Workload from preempting.
func IsBlockedOnPreemptionGates(wl *kueue.Workload) bool {
	return meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadBlockedOnPreemptionGates)
}
