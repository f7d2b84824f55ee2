package view

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads;clusterqueues;localqueues;cohorts;resourceflavors;admissionchecks;topologies,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces;limitranges,verbs=list;watch
// +kubebuilder:rbac:groups=node.k8s.io,resources=runtimeclasses,verbs=list;watch

// Register feeds the view from the informers of a cache, which need not have started. Call it once.
func (v *View) Register(ctx context.Context, informers cache.Informers) error {
	if v.opts.Topologies {
		if err := feed(ctx, v, informers, v.setTopology, v.dropTopology, &kueue.Topology{}); err != nil {
			return err
		}
	}
	return firstError(
		feed(ctx, v, informers, v.setNamespace, v.dropNamespace, &corev1.Namespace{}),
		feed(ctx, v, informers, v.setLimitRange, v.dropLimitRange, &corev1.LimitRange{}),
		feed(ctx, v, informers, v.setRuntimeClass, v.dropRuntimeClass, &nodev1.RuntimeClass{}),
		feed(ctx, v, informers, v.setFlavor, v.dropFlavor, &kueue.ResourceFlavor{}),
		feed(ctx, v, informers, v.setCheck, v.dropCheck, &kueue.AdmissionCheck{}),
		feed(ctx, v, informers, v.setCohort, v.dropCohort, &kueue.Cohort{}),
		feed(ctx, v, informers, v.setClusterQueue, v.dropClusterQueue, &kueue.ClusterQueue{}),
		feed(ctx, v, informers, v.setLocalQueue, v.dropLocalQueue, &kueue.LocalQueue{}),
		feed(ctx, v, informers, v.setWorkload, v.dropWorkload, &kueue.Workload{}),
	)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// feed calls set for every object that is new or changed and drop for every one that is gone, with the mutex held.
func feed[T client.Object](ctx context.Context, v *View, informers cache.Informers, set, drop func(T), of T) error {
	informer, err := informers.GetInformer(ctx, of, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("get informer of %T: %w", of, err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { locked(v, obj, set) },
		UpdateFunc: func(_, obj any) { locked(v, obj, set) },
		DeleteFunc: func(obj any) { locked(v, last(obj), drop) },
	})
	if err != nil {
		return fmt.Errorf("watch %T: %w", of, err)
	}
	v.synced = append(v.synced, registration.HasSynced)
	return nil
}

func locked[T any](v *View, obj any, do func(T)) {
	typed, ok := obj.(T)
	if !ok {
		return
	}
	v.mu.Lock()
	defer v.unlock()
	do(typed)
}

// last is the last known state of an object whose deletion the watch missed.
func last(obj any) any {
	if missed, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		return missed.Obj
	}
	return obj
}

// WaitForSync blocks until everything that existed at the start has been seen; false when the context ended first. No
// cycle may run before: it would give away quota that is taken.
func (v *View) WaitForSync(ctx context.Context) bool {
	return toolscache.WaitForCacheSync(ctx.Done(), v.synced...)
}
