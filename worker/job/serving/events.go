package serving

import (
	"fmt"

	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
)

func note(reason, format string, wl *kueue.Workload) kube.Event {
	return kube.Event{Reason: reason, Note: fmt.Sprintf(format, wl.Namespace+"/"+wl.Name)}
}

// CreationEvents tell the owner of a Workload that it was made (contract: job-kinds.md 1.6).
func CreationEvents(wl *kueue.Workload) []kube.Event {
	return []kube.Event{note(kueue.EventCreatedWorkload, "Created Workload: %s", wl)}
}

// DeletionEvents tell the owner of a Workload that it was deleted.
func DeletionEvents(wl *kueue.Workload) []kube.Event {
	return []kube.Event{note(kueue.EventDeletedWorkload, "Deleted not matching Workload: %s", wl)}
}

// UpdateEvents tell the owner of a Workload in which respects it follows its owner now. Nothing is said of the queue.
func UpdateEvents(was, is *kueue.Workload) []kube.Event {
	var list []kube.Event
	if !job.SamePodSets(was.Spec.PodSets, is.Spec.PodSets) {
		list = append(list, note(kueue.EventUpdatedWorkload, "Updated not matching Workload for suspended job: %s", is))
	}
	if !ptr.Equal(was.Spec.PriorityClassRef, is.Spec.PriorityClassRef) {
		list = append(list, note(kueue.EventUpdatedWorkload, "Updated workload priority class: %s", is))
	}
	if gates := is.Annotations[kueue.AdmissionGatedByAnnotation]; gates != was.Annotations[kueue.AdmissionGatedByAnnotation] {
		list = append(list, kube.Event{Reason: kueue.EventUpdatedWorkload, Note: fmt.Sprintf("Updated workload AdmissionGatedBy to %q", gates)})
	}
	return list
}

// MissingClassEvents warn that a WorkloadPriorityClass does not exist.
func MissingClassEvents(name string) []kube.Event {
	return []kube.Event{{
		Warning: true, Reason: kueue.EventWorkloadPriorityClassNotFound, Note: fmt.Sprintf("WorkloadPriorityClass %q not found", name),
	}}
}
