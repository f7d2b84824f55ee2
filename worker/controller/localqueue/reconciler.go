package localqueue

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/controller/figures"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=localqueues,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=localqueues/status,verbs=patch

// Setup adds the controller to the manager.
func Setup(mgr ctrl.Manager, p figures.Parts) error { return newReconciler(p).Setup(mgr, "localqueue") }

func newReconciler(p figures.Parts) *figures.Reconciler[*kueue.LocalQueue] {
	return &figures.Reconciler[*kueue.LocalQueue]{Parts: p, Kind: figures.Kind[*kueue.LocalQueue]{
		Name:    "LocalQueue",
		New:     func() *kueue.LocalQueue { return &kueue.LocalQueue{} },
		Changed: p.View.LocalQueues(),
		Step: func(lq *kueue.LocalQueue, now time.Time) (*kueue.LocalQueue, bool) {
			name := types.NamespacedName{Namespace: lq.Namespace, Name: lq.Name}
			standing, known := p.View.LocalQueue(name)
			if !known {
				return nil, false
			}
			p.Metrics.DropUnselected(name)
			if standing.Stopped && !saysStopped(lq) {
				p.Metrics.DropLocalQueue(name) // what is counted begins anew (contract: messages.md 6.1)
			}
			return step(lq, standing, p.View.RecentUsage(name), now), true
		},
		Urgent: func(was, is *kueue.LocalQueue) bool {
			return !equality.Semantic.DeepEqual(was.Status.Conditions, is.Status.Conditions)
		},
		Gone: p.Metrics.DropLocalQueue,
	}}
}

// saysStopped tells whether the status tells already that the queue is stopped.
func saysStopped(lq *kueue.LocalQueue) bool {
	active := meta.FindStatusCondition(lq.Status.Conditions, kueue.LocalQueueActive)
	return active != nil && active.Reason == string(kueue.ReasonStopped)
}
