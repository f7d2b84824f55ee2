package podgroup

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/kube"
)

// stopReason is why a pod is told to terminate (contract: job-kinds.md 10.4).
func (s *snapshot) stopReason(because plan.Reason) string {
	if because != plan.WorkloadEvicted {
		return string(because)
	}
	if c := meta.FindStatusCondition(s.wl.Status.Conditions, kueue.WorkloadEvicted); c != nil {
		return string(because) + "DueTo" + c.Reason
	}
	return string(because)
}

// stopMessage is the same in words (contract: job-kinds.md 1.6).
func (s *snapshot) stopMessage(because plan.Reason) string {
	switch {
	case because == plan.WorkloadEvicted:
		if c := meta.FindStatusCondition(s.wl.Status.Conditions, kueue.WorkloadEvicted); c != nil {
			return c.Message
		}
		return ""
	case because == plan.WorkloadDeleted:
		return "Workload is deleted"
	case because == plan.NotAdmitted:
		return "Not admitted by cluster queue"
	case because == plan.Expired:
		return expiredNote
	case s.facts.Link == plan.LinkAwaited || s.facts.Link == plan.LinkForeign:
		return "missing workload"
	case s.wl == nil:
		return "Missing Workload; unable to restore pod templates"
	}
	return "No matching Workload; restoring pod templates according to existent Workload"
}

// expiredNote is the contract's (contract: job-kinds.md 1.6).
const expiredNote = "Deleted job: deactivation retention period expired"

// changeEvents are for a pod that was changed.
func (s *snapshot) changeEvents(p plan.Plan, c plan.Change) []kube.Event {
	switch {
	case c.Excess && c.Delete:
		return []kube.Event{{Reason: kueue.EventExcessPodDeleted, Note: "Excess pod deleted"}}
	case p.Reason == plan.Expired && c.Delete:
		return []kube.Event{{Reason: kueue.EventDeleted, Note: expiredNote}}
	case c.Delete && !s.facts.Members[c.Member].Gated && !s.facts.Members[c.Member].Told:
		return []kube.Event{{Reason: kueue.EventStopped, Note: s.stopMessage(p.Reason)}}
	}
	return nil
}

// updateEvents tells in which respects the Workload follows its pods now. Nothing is said of its queue.
func (s *snapshot) updateEvents() []kube.Event {
	name, was, is := nameOf(s.wl), &s.wl.Spec, &s.desired.Spec
	var list []kube.Event
	add := func(reason, note string) { list = append(list, kube.Event{Reason: reason, Note: note}) }
	if !job.SamePodSets(was.PodSets, is.PodSets) || !ptr.Equal(was.MaximumExecutionTimeSeconds, is.MaximumExecutionTimeSeconds) {
		add(kueue.EventUpdatedWorkload, "Updated not matching Workload for suspended job: "+name)
	}
	if !ptr.Equal(was.PriorityClassRef, is.PriorityClassRef) {
		add(kueue.EventUpdatedWorkload, "Updated workload priority class: "+name)
	}
	if gates := s.desired.Annotations[kueue.AdmissionGatedByAnnotation]; gates != s.wl.Annotations[kueue.AdmissionGatedByAnnotation] {
		add(kueue.EventUpdatedWorkload, fmt.Sprintf("Updated workload AdmissionGatedBy to %q", gates))
	}
	return list
}

// warn tells the pods' user what only he can solve, once for as long as it stays the same.
func (r *reconciler) warn(req ctrl.Request, s *snapshot, p plan.Plan) {
	speaker := s.speaker()
	reason, note := string(p.Reason), s.message
	switch {
	case speaker == nil, p.Reason == plan.CatchingUp:
		return
	case p.Reason == plan.CannotCompose, p.Reason == plan.NameConflict:
	case p.Reason == plan.PriorityClassNotFound && s.telling:
	case p.Reason == plan.WaitingForPrebuilt:
		reason = kueue.EventErrWorkloadCompose
	default:
		note = ""
	}
	if r.warned.isNew(req, note) {
		kube.RecordEvents(r.recorder, speaker, kube.Event{Warning: true, Reason: reason, Note: note})
	}
}
