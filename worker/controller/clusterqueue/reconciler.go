package clusterqueue

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/controller/queuestatus"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues/status,verbs=patch

// Setup adds the controller to the manager.
func Setup(mgr ctrl.Manager, p queuestatus.Config) error {
	return newReconciler(p).Setup(mgr, "clusterqueue")
}

func newReconciler(p queuestatus.Config) *queuestatus.Reconciler[*kueue.ClusterQueue] {
	return &queuestatus.Reconciler[*kueue.ClusterQueue]{Config: p, Kind: queuestatus.KindHandler[*kueue.ClusterQueue]{
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
