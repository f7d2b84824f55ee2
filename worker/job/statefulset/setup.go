package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

func indexes() []serving.Index { return serving.Indexes(Kind(), podOwner, templates) }

// podOwner is the set that controls a pod, if the pod waits or waited because of us.
func podOwner(obj client.Object) (types.NamespacedName, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != gvk().Kind || ref.APIVersion != gvk().GroupVersion().String() || !serving.BelongsTo(obj, Name) {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}, true
}

// start adds indexes and controller to a manager that may be running already.
func start(mgr ctrl.Manager, o job.Options) error {
	return serving.Controller[*appsv1.StatefulSet]{
		Kind: Kind(), Indexes: indexes(),
		New: func(base serving.Base) reconcile.Reconciler { return &reconciler{base} },
		Watch: func(b *builder.Builder) *builder.Builder {
			return b.
				Watches(&kueue.Workload{}, serving.AtOnce(serving.WorkloadOwner(gvk()))).
				Watches(&corev1.Pod{}, serving.Batched(podOwner), builder.WithPredicates(serving.ComingsAndGoings()))
		},
	}.Start(mgr, o)
}
