package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=localqueues,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=localqueues/status,verbs=patch

// SetupLocalQueues adds the controller that writes the status of LocalQueues, gathered (contract: kueue-api.md 1.18).
func SetupLocalQueues(mgr ctrl.Manager, p Config) error {
	return newLocalQueueReconciler(p).Setup(mgr, "localqueue")
}

// newLocalQueueReconciler returns the writer of LocalQueue statuses. A queue that the view does not know yet is left alone.
func newLocalQueueReconciler(p Config) *StatusReconciler[*kueue.LocalQueue] {
	return &StatusReconciler[*kueue.LocalQueue]{Config: p, Kind: KindHandler[*kueue.LocalQueue]{
		Name:   "LocalQueue",
		New:    func() *kueue.LocalQueue { return &kueue.LocalQueue{} },
		Source: p.View.LocalQueueRequests(),
		Desired: func(lq *kueue.LocalQueue, now time.Time) (*kueue.LocalQueue, bool) {
			name := types.NamespacedName{Namespace: lq.Namespace, Name: lq.Name}
			standing, known := p.View.LocalQueueStatus(name)
			if !known {
				return nil, false
			}
			p.Metrics.DeleteUnselected(name)
			if standing.Stopped && !isReportedStopped(lq) {
				p.Metrics.DeleteLocalQueue(name) // what is counted begins anew (contract: messages.md 6.1)
			}
			return desiredLocalQueue(lq, standing, p.View.RecentUsage(name), now), true
		},
		IsUrgent: func(was, is *kueue.LocalQueue) bool {
			return !equality.Semantic.DeepEqual(was.Status.Conditions, is.Status.Conditions)
		},
		OnDeleted: p.Metrics.DeleteLocalQueue,
	}}
}

// isReportedStopped tells whether the status tells already that the queue is stopped.
func isReportedStopped(lq *kueue.LocalQueue) bool {
	active := meta.FindStatusCondition(lq.Status.Conditions, kueue.LocalQueueActive)
	return active != nil && active.Reason == string(kueue.ReasonStopped)
}
