package podgate

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/workload"
)

// Setup adds the reconciler to the manager, with a cache that has the pods of elastic jobs and no others, once there is one. The client and the
// clock are the reconciler's own; its reader of pods is set here.
func (r *Reconciler) Setup(ctx context.Context, mgr ctrl.Manager) error {
	elastic, err := labels.NewRequirement(switchyard.ElasticPodLabel, selection.Exists, nil)
	if err != nil {
		return fmt.Errorf("select the pods of elastic jobs: %w", err)
	}
	list, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {
			Label: labels.NewSelector().Add(*elastic), Transform: strip,
		}},
	})
	if err != nil {
		return fmt.Errorf("make the cache of pods of elastic jobs: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &kueue.Workload{}, jobIndex, jobOfSlice); err != nil {
		return fmt.Errorf("index slices: %w", err)
	}
	pods := newPodCache(list)
	r.Pods = pods
	isSlice := predicate.NewPredicateFuncs(workload.IsElastic)
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("elastic_pods").
		Watches(&kueue.Workload{}, handler.EnqueueRequestsFromMapFunc(requests(jobOfSlice)), builder.WithPredicates(isSlice)).
		WatchesRawSource(source.Channel(r.trusted.news, handler.EnqueueRequestsFromMapFunc(requests(jobOfSlice)))).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Build(r)
	if err != nil {
		return fmt.Errorf("start the controller of pods of elastic jobs: %w", err)
	}
	pods.follow = func() error {
		return c.Watch(source.Kind(list, client.Object(&corev1.Pod{}), handler.EnqueueRequestsFromMapFunc(requests(jobOfPod))))
	}
	if err := mgr.Add(pods); err != nil {
		return fmt.Errorf("add the cache of pods of elastic jobs: %w", err)
	}
	return nil
}

// requests returns the job that an object is of.
func requests(job client.IndexerFunc) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []reconcile.Request {
		var all []reconcile.Request
		for _, uid := range job(obj) {
			all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: uid}})
		}
		return all
	}
}

// jobOfSlice is the UID of the job that a slice says it is of. A prebuilt one need not say that it is a slice.
func jobOfSlice(obj client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// jobOfPod is the UID of the job of a pod.
func jobOfPod(obj client.Object) []string {
	if uid := obj.GetLabels()[switchyard.ElasticPodLabel]; uid != "" {
		return []string{uid}
	}
	return nil
}

// strip leaves of a pod what decisions read, and what patches of it must not lose.
func strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp,
			Labels:      map[string]string{kueue.PodSetLabel: pod.Labels[kueue.PodSetLabel], switchyard.ElasticPodLabel: pod.Labels[switchyard.ElasticPodLabel]},
			Annotations: map[string]string{},
		},
		Spec:   corev1.PodSpec{SchedulingGates: pod.Spec.SchedulingGates, NodeSelector: pod.Spec.NodeSelector},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for key, value := range pod.Annotations {
		if strings.HasPrefix(key, "kueue.x-k8s.io/") || strings.HasPrefix(key, "autoscaling.x-k8s.io/") {
			kept.Annotations[key] = value
		}
	}
	return kept, nil
}
