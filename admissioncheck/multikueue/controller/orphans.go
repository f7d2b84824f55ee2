package controller

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/orphans"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// adoptedHubs are the identities of former hubs whose objects are this hub's. The zero value has none.
type adoptedHubs struct{ list atomic.Pointer[[]types.UID] }

func (a *adoptedHubs) get() []types.UID {
	if list := a.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (a *adoptedHubs) set(hubs []types.UID) { a.list.Store(&hubs) }

// OwnsWorkload tells whether a Workload is the hub's as far as this program knows: its cache has it, or had it. What else clusters show
// anybody may have made who may make jobs there.
func (r *WorkloadReconciler) OwnsWorkload(key client.ObjectKey) bool {
	return !r.isWorkloadMissing(context.Background(), key) ||
		readTracker(r.tracker, func(t *tracker.Tracker) bool { return t.WasDeleted(admissionKey(key)) })
}

// deletionRecorder passes all events of Workloads and notes which of them go.
func (r *WorkloadReconciler) deletionRecorder() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		key := admissionKey(client.ObjectKeyFromObject(e.Object))
		r.tracker.do(func(t *tracker.Tracker) { t.RecordDeleted(key) })
		return true
	}}
}

// requeueDeleted makes those be looked at again that were seen to go: a cluster that showed something of them is no more.
func (r *WorkloadReconciler) requeueDeleted() {
	for _, key := range readTracker(r.tracker, (*tracker.Tracker).DeletedWorkloads) {
		r.Fleet.WorkloadRequests().EnqueueLowPriority(namespacedName(key))
	}
}

// recordObserved notes that a Workload exists which has a copy made in a time that the hub has no record of: if it goes from now on, this
// program knows that it did.
func (r *WorkloadReconciler) recordObserved(o mirror.Original, seen mirror.Found) {
	if o.Deleted || !r.isUnrecorded(o, seen) {
		return
	}
	r.tracker.do(func(t *tracker.Tracker) { t.Witness(trackedWorkload(o)) })
}

// isUnrecorded tells whether something that is seen was made in a time that the hub has no record of, or by a hub that it has
// adopted. What does not name its hub was made by a program that keeps no record.
func (r *WorkloadReconciler) isUnrecorded(o mirror.Original, seen mirror.Found) bool {
	for _, obj := range seen.Objects() {
		hub := types.UID(obj.GetAnnotations()[switchyard.HubUIDAnnotation])
		if hub != "" && (slices.Contains(o.Adopted, hub) || hub == o.Hub && r.Hub.IsUnrecorded(obj.GetCreationTimestamp().Time)) {
			return true
		}
	}
	return false
}

// keepsOrphan tells whether what a cluster shows of a Workload that the hub does not have is kept: a job may run there, and the hub may
// just not know. A Workload that this program has seen was deleted. People may have it removed.
func (r *WorkloadReconciler) keepsOrphan(ctx context.Context, cluster string, ghost mirror.Original) bool {
	seen := r.lookupRemote(cluster, ghost)
	if !seen.MayRun() || !r.isUnrecorded(ghost, seen) {
		return false
	}
	var owner string
	var witnessed bool
	r.tracker.do(func(t *tracker.Tracker) { owner, witnessed = t.WitnessedUID(admissionKey(ghost.Key())) })
	made := time.Time{}
	for _, obj := range seen.Objects() {
		if witnessed && obj.GetAnnotations()[switchyard.OwnerUIDAnnotation] != owner {
			witnessed = false
		}
		if at := obj.GetCreationTimestamp().Time; at.After(made) {
			made = at
		}
	}
	return !witnessed && !made.Before(r.lookupClusterInfo(ctx, &workloadScope{}, cluster).DiscardOrphansBefore)
}

// hasOwnObjects tells whether anything that is seen on a cluster is this hub's.
func hasOwnObjects(v dispatch.ClusterView) bool {
	ours := func(h dispatch.Holder) bool { return h == dispatch.Ours || h == dispatch.Predecessor }
	if v.Live != nil && (ours(v.Live.Copy.Holder) || ours(v.Live.Job.Holder)) {
		return true
	}
	return ours(v.Copy.Holder) || ours(v.Job.Holder)
}

// ListOrphans looks through the informers of a cluster.
func (r *WorkloadReconciler) ListOrphans(ctx context.Context, cluster string, kinds []fleet.WatchedKind) orphans.ByHub {
	found, own, adopted := orphans.ByHub{}, r.Hub.Identity(), r.adoptedHubs.get()
	for _, kind := range kinds {
		for _, obj := range r.Fleet.List(cluster, kind.GVK) {
			key, ok := kind.WorkloadKey(obj)
			if other := mirror.OtherHub(obj, own, adopted); other != "" {
				if !ok {
					key = client.ObjectKeyFromObject(obj)
				}
				found.Add(other, key)
			} else if ok && r.isUnrecorded(mirror.Original{Hub: own, Adopted: adopted}, mirror.Found{Job: obj}) && r.isWorkloadMissing(ctx, key) {
				if ghost := r.buildOrphan(key); r.keepsOrphan(ctx, cluster, ghost) {
					found.Add(own, key)
				} else {
					r.Fleet.RequeueWorkload(cluster, key) // somebody may have said that it is to go
				}
			}
		}
	}
	return found
}

// isWorkloadMissing tells whether, as far as the hub's cache knows, it has no such Workload.
func (r *WorkloadReconciler) isWorkloadMissing(ctx context.Context, key client.ObjectKey) bool {
	return apierrors.IsNotFound(r.Client.Get(ctx, key, &kueue.Workload{}, client.UnsafeDisableDeepCopy))
}

// HubIdentity implements orphans.Finder.
func (r *WorkloadReconciler) HubIdentity() types.UID { return r.Hub.Identity() }

// SetAdoptedHubs implements orphans.Finder.
func (r *WorkloadReconciler) SetAdoptedHubs(hubs []types.UID) { r.adoptedHubs.set(hubs) }
