package clusterqueue

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/controller/figures"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues/status,verbs=patch

// Setup adds the controller to the manager.
func Setup(mgr ctrl.Manager, p figures.Parts) error {
	return newReconciler(p).Setup(mgr, "clusterqueue")
}

func newReconciler(p figures.Parts) *figures.Reconciler[*kueue.ClusterQueue] {
	return &figures.Reconciler[*kueue.ClusterQueue]{Parts: p, Kind: figures.Kind[*kueue.ClusterQueue]{
		Name:    "ClusterQueue",
		New:     func() *kueue.ClusterQueue { return &kueue.ClusterQueue{} },
		Changed: p.View.ClusterQueues(),
		Step: func(cq *kueue.ClusterQueue, now time.Time) (*kueue.ClusterQueue, bool) {
			standing, known := p.View.ClusterQueue(cq.Name)
			if !known {
				return nil, false
			}
			is := step(cq, standing, now)
			is.Status.FairSharing = p.ShareOf(func() quota.Share { return p.View.Share(cq.Name) })
			return is, true
		},
		Urgent: func(was, is *kueue.ClusterQueue) bool {
			return len(was.Finalizers) != len(is.Finalizers) || !equality.Semantic.DeepEqual(was.Status.Conditions, is.Status.Conditions)
		},
		Gone: func(name types.NamespacedName) { p.Metrics.DropClusterQueue(name.Name) },
	}}
}
