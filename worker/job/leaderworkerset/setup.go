package leaderworkerset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

func indexes() []serving.Index { return serving.Indexes(Kind(), podOwner, templates) }

// labelledOwner is the set that an object says it is of.
func labelledOwner(obj client.Object) (types.NamespacedName, bool) {
	name := obj.GetLabels()[lwsv1.SetNameLabelKey]
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}, name != ""
}

// podOwner is the set that a pod is of, if the pod waits or waited because of us.
func podOwner(obj client.Object) (types.NamespacedName, bool) {
	if !serving.BelongsTo(obj, Name) {
		return types.NamespacedName{}, false
	}
	return labelledOwner(obj)
}

// start adds indexes and controller to a manager that may be running already.
func start(mgr ctrl.Manager, o job.Options) error {
	return serving.Controller[*lwsv1.LeaderWorkerSet]{
		Kind: Kind(), Indexes: indexes(),
		New: func(base serving.Base) reconcile.Reconciler { return &reconciler{base} },
		Watch: func(b *builder.Builder) *builder.Builder {
			return b.
				Watches(&kueue.Workload{}, serving.Batched(serving.WorkloadOwner(gvk()))).
				Watches(&corev1.Pod{}, serving.Batched(podOwner)).
				Watches(&appsv1.StatefulSet{}, serving.Batched(labelledOwner), builder.WithPredicates(serving.UpdatesAndDeletions()))
		},
	}.Start(mgr, o)
}
