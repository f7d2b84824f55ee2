package workload

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// IsDrainedElsewhere tells, of the Workload of something that runs on another cluster, that no cluster has it, or that its dispatcher has
// given that cluster up and remembers itself what may still run there.
func IsDrainedElsewhere(wl *kueue.Workload) bool {
	if wl.Status.ClusterName == nil {
		return true
	}
	for _, c := range wl.Status.AdmissionChecks {
		if c.State == kueue.CheckStateRetry || c.State == kueue.CheckStateRejected {
			return true
		}
	}
	evicted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	return evicted != nil && evicted.Status == metav1.ConditionTrue && evicted.Reason == string(kueue.ReasonAdmissionCheck)
}
