package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/quota"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues/status,verbs=patch

// SetupClusterQueues adds the controller that writes the status of ClusterQueues, gathered, and takes the finalizer off one that is
// being deleted once no workload holds its quota (contract: kueue-api.md 1.18, 2.3).
func SetupClusterQueues(mgr ctrl.Manager, p Config) error {
	return newClusterQueueReconciler(p).Setup(mgr, "clusterqueue")
}

// newClusterQueueReconciler returns the writer of ClusterQueue statuses. A queue that the view does not know yet is left
// alone.
func newClusterQueueReconciler(p Config) *StatusReconciler[*kueue.ClusterQueue] {
	return &StatusReconciler[*kueue.ClusterQueue]{Config: p, Kind: KindHandler[*kueue.ClusterQueue]{
		Name:   "ClusterQueue",
		New:    func() *kueue.ClusterQueue { return &kueue.ClusterQueue{} },
		Source: p.View.ClusterQueueRequests(),
		Desired: func(cq *kueue.ClusterQueue, now time.Time) (*kueue.ClusterQueue, bool) {
			standing, known := p.View.ClusterQueueStatus(cq.Name)
			if !known {
				return nil, false
			}
			is := desiredClusterQueue(cq, standing, now)
			is.Status.FairSharing = p.FairSharingStatus(func() quota.Share { return p.View.QueueShare(cq.Name) })
			return is, true
		},
		IsUrgent: func(was, is *kueue.ClusterQueue) bool {
			return len(was.Finalizers) != len(is.Finalizers) || !equality.Semantic.DeepEqual(was.Status.Conditions, is.Status.Conditions)
		},
		OnDeleted: func(name types.NamespacedName) { p.Metrics.DeleteClusterQueue(name.Name) },
	}}
}
