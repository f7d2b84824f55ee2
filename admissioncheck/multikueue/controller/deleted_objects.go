package controller

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// deletedObjects is what is remembered of a Workload's objects that are gone from a cluster; without a Last where there is nothing.
type deletedObjects struct{ job, workload fleet.DeletedObject }

// lookupDeletedObjects returns what is remembered of an Original.
func (r *WorkloadReconciler) lookupDeletedObjects(cluster string, o mirror.Original) (l deletedObjects) {
	if o.Kind != nil {
		l.job, _ = r.Fleet.LastDeleted(cluster, o.Kind.GVK(), o.Key())
	}
	l.workload, _ = r.Fleet.LastDeleted(cluster, workloadGVK(), o.Key())
	return l
}

// stoppedEpoch is dispatch.ClusterView.Stopped. A job that was deleted in the foreground stays until its pods have ended, unless somebody
// deletes it once more and does not wait: guarded tells that the worker refuses that (charts/README.md). Elsewhere it has to have shown that none is left,
// which its controller, late by a moment, mostly does not come to.
func stoppedEpoch(o mirror.Original, l deletedObjects, guarded bool) int64 {
	var before, ended int64
	if l.job.LastState != nil {
		before = max(mirror.Epoch(l.job.LastState), 1)
		foreground := slices.Contains(l.job.LastState.GetFinalizers(), metav1.FinalizerDeleteDependents)
		if l.job.DeletionObserved && foreground && (guarded || !o.Kind.Progress(l.job.LastState).HoldsPods()) {
			ended = before
		}
	}
	wl, ok := l.workload.LastState.(*kueue.Workload)
	if ok && l.workload.DeletionObserved && !o.ObserveWorkload(wl).Adopted && max(mirror.Epoch(wl), 1) > before {
		return max(mirror.Epoch(wl), 1)
	}
	return ended
}
