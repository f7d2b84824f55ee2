package leaderworkerset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/kube"
)

// Names of the indexes: pods and Workloads by the name of their set, sets by the priority classes that they name.
const (
	podIndex      = "switchyard.leaderworkerset.pods"
	workloadIndex = "switchyard.leaderworkerset.workloads"
	classIndex    = "switchyard.leaderworkerset.classes"
)

func indexes() []serving.Index {
	return []serving.Index{
		{Of: &corev1.Pod{}, Name: podIndex, By: serving.ByName(podOwner)},
		{Of: &kueue.Workload{}, Name: workloadIndex, By: serving.ByName(serving.WorkloadOwner(gvk()))},
		{Of: &lwsv1.LeaderWorkerSet{}, Name: classIndex, By: kube.TypedIndexer(func(s *lwsv1.LeaderWorkerSet) []string {
			return serving.ClassKeys(s, templates(s)...)
		})},
	}
}

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
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := newReconciler(o, mgr.GetClient(), mgr.GetCache(), mgr.GetAPIReader(), mgr.GetEventRecorder(Name+"-kueue-controller"))
	if err := serving.AddIndexes(mgr.GetFieldIndexer(), indexes()); err != nil {
		return err
	}
	options := kube.ControllerOptions()
	options.MaxConcurrentReconciles = o.Workers(gvk().GroupKind())
	classes := handler.EnqueueRequestsFromMapFunc(r.requestsForClass)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("job_leaderworkerset").
		For(&lwsv1.LeaderWorkerSet{}).
		Watches(&kueue.Workload{}, serving.Batched(serving.WorkloadOwner(gvk()))).
		Watches(&corev1.Pod{}, serving.Batched(podOwner)).
		Watches(&appsv1.StatefulSet{}, serving.Batched(labelledOwner), builder.WithPredicates(serving.UpdatesAndDeletions())).
		Watches(&kueue.WorkloadPriorityClass{}, classes, builder.WithPredicates(serving.Creations())).
		Watches(&schedulingv1.PriorityClass{}, classes, builder.WithPredicates(serving.Creations())).
		WithOptions(options).
		Complete(r)
	if err != nil {
		return fmt.Errorf("start controller of %s: %w", gvk().Kind, err)
	}
	return nil
}

// requestsForClass are the sets that name a priority class that is new.
func (r *reconciler) requestsForClass(ctx context.Context, class client.Object) []reconcile.Request {
	var list lwsv1.LeaderWorkerSetList
	if err := r.client.List(ctx, &list, client.MatchingFields{classIndex: serving.ClassKey(class)}); err != nil {
		log.FromContext(ctx).Error(err, "List the sets that name a priority class", "class", class.GetName())
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i] = reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}
	}
	return requests
}
