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
		if err := addEventHandler(ctx, v, informers, v.setTopology, v.deleteTopology, &kueue.Topology{}); err != nil {
			return err
		}
	}
	return firstError(
		addEventHandler(ctx, v, informers, v.setNamespace, v.deleteNamespace, &corev1.Namespace{}),
		addEventHandler(ctx, v, informers, v.setLimitRange, v.deleteLimitRange, &corev1.LimitRange{}),
		addEventHandler(ctx, v, informers, v.setRuntimeClass, v.deleteRuntimeClass, &nodev1.RuntimeClass{}),
		addEventHandler(ctx, v, informers, v.setFlavor, v.deleteFlavor, &kueue.ResourceFlavor{}),
		addEventHandler(ctx, v, informers, v.setCheck, v.deleteCheck, &kueue.AdmissionCheck{}),
		addEventHandler(ctx, v, informers, v.setCohort, v.deleteCohort, &kueue.Cohort{}),
		addEventHandler(ctx, v, informers, v.setClusterQueue, v.deleteClusterQueue, &kueue.ClusterQueue{}),
		addEventHandler(ctx, v, informers, v.setLocalQueue, v.deleteLocalQueue, &kueue.LocalQueue{}),
		addEventHandler(ctx, v, informers, v.setWorkload, v.deleteWorkload, &kueue.Workload{}),
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

// addEventHandler calls set for every object that is new or changed and drop for every one that is gone, with the mutex held.
func addEventHandler[T client.Object](ctx context.Context, v *View, informers cache.Informers, set, drop func(T), of T) error {
	informer, err := informers.GetInformer(ctx, of, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("get informer of %T: %w", of, err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { handleLocked(v, obj, set) },
		UpdateFunc: func(_, obj any) { handleLocked(v, obj, set) },
		DeleteFunc: func(obj any) { handleLocked(v, lastKnownState(obj), drop) },
	})
	if err != nil {
		return fmt.Errorf("watch %T: %w", of, err)
	}
	v.hasSynced = append(v.hasSynced, registration.HasSynced)
	return nil
}

func handleLocked[T any](v *View, obj any, do func(T)) {
	typed, ok := obj.(T)
	if !ok {
		return
	}
	v.mu.Lock()
	defer v.unlockAndReport()
	do(typed)
}

// lastKnownState is the last known state of an object whose deletion the watch missed.
func lastKnownState(obj any) any {
	if missed, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		return missed.Obj
	}
	return obj
}

// WaitForSync blocks until everything that existed at the start has been seen; false when the context ended first. No
// cycle may run before: it would give away quota that is taken.
func (v *View) WaitForSync(ctx context.Context) bool {
	return toolscache.WaitForCacheSync(ctx.Done(), v.hasSynced...)
}

// HasSynced tells whether the view has what the API had when the program started.
func (v *View) HasSynced() bool {
	for _, synced := range v.hasSynced {
		if !synced() {
			return false
		}
	}
	return len(v.hasSynced) > 0
}
