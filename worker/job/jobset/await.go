package jobset

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// controllerObserved is false for a resumed JobSet whose status still has it suspended, unless its jobs start in order: then that is said when
// the last has started. A status that is empty tells nothing: a namespace without room for a Service is enough to keep it so.
func controllerObserved(js *jobsetv1.JobSet) bool {
	inOrder := js.Spec.StartupPolicy != nil && js.Spec.StartupPolicy.StartupPolicyOrder == jobsetv1.InOrder
	return ptr.Deref(js.Spec.Suspend, false) || inOrder || !meta.IsStatusConditionTrue(js.Status.Conditions, string(jobsetv1.JobSetSuspended))
}

func lastControllerUpdate(js *jobsetv1.JobSet) time.Time {
	var latest time.Time
	for _, c := range js.Status.Conditions {
		if c.LastTransitionTime.After(latest) {
			latest = c.LastTransitionTime.Time
		}
	}
	return latest
}
