package job

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

func newEvents(reason, note string) []kube.Event { return []kube.Event{{Reason: reason, Note: note}} }

// waitingEvents are the events for a job that only the user can bring further.
func (s *snapshot[T]) waitingEvents(plan Plan) []kube.Event {
	note := s.message
	switch plan.Reason {
	case NestedTooDeep:
		note = fmt.Sprintf("Terminated search for Kueue-managed Job because ancestor depth exceeded limit of %d", maxNesting)
	case CannotCompose:
	case PriorityClassNotFound:
		if s.missingClass.kind != kueue.WorkloadPriorityClassKind { // the public API says nothing of classes of pods
			return nil
		}
	case WaitingForPrebuilt:
		return []kube.Event{{Warning: true, Reason: string(CannotCompose), Note: note}}
	default:
		return nil
	}
	return []kube.Event{{Warning: true, Reason: string(plan.Reason), Note: note}}
}

// updateEvents tells in which respects the Workload follows its job now (contract: job-kinds.md 1.6). Nothing is said of its queue.
func (s *snapshot[T]) updateEvents() []kube.Event {
	before := s.updated()
	name, was, is := workloadName(before), &before.Spec, &s.desired.Spec
	if s.facts.Link == LinkStale {
		return newEvents(kueue.EventUpdatedWorkload, "Updated not matching Workload for suspended job: "+name)
	}
	var list []kube.Event
	if !ptr.Equal(was.MaximumExecutionTimeSeconds, is.MaximumExecutionTimeSeconds) {
		list = newEvents(kueue.EventUpdatedWorkload, "Updated not matching Workload for suspended job: "+name)
	}
	if !ptr.Equal(was.PriorityClassRef, is.PriorityClassRef) {
		list = append(list, newEvents(kueue.EventUpdatedWorkload, "Updated workload priority class: "+name)...)
	}
	if gates := s.desired.Annotations[kueue.AdmissionGatedByAnnotation]; gates != before.Annotations[kueue.AdmissionGatedByAnnotation] {
		list = append(list, newEvents(kueue.EventUpdatedWorkload, fmt.Sprintf("Updated workload AdmissionGatedBy to %q", gates))...)
	}
	return list
}

// stopMessage is why the job is stopped (contract: job-kinds.md 1.6).
func (s *snapshot[T]) stopMessage(plan Plan) string {
	switch {
	case plan.Reason == WorkloadEvicted:
		if c := meta.FindStatusCondition(s.wl.Status.Conditions, kueue.WorkloadEvicted); c != nil {
			return c.Message
		}
		return ""
	case plan.Reason == WorkloadDeleted:
		return "Workload is deleted"
	case plan.Reason == NotAdmitted:
		return "Not admitted by cluster queue"
	case s.facts.Link == LinkAwaited || s.facts.Link == LinkOwnedByOther:
		return "missing workload"
	case s.wl == nil:
		return "Missing Workload; unable to restore pod templates"
	}
	return "No matching Workload; restoring pod templates according to existent Workload"
}
