package controller

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/orphans"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	"switchyard.dev/admissioncheck/multikueue/uptime"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/job"
)

// adoptedHubs are the identities of former hubs whose objects are this hub's. The zero value has none.
type adoptedHubs struct{ list atomic.Pointer[[]types.UID] }

// get returns the identities of the hubs that any cluster's annotation names; nil until one was read.
func (a *adoptedHubs) get() []types.UID {
	if list := a.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (a *adoptedHubs) set(hubs []types.UID) { a.list.Store(&hubs) }

// hasOwnObjects tells whether anything that is seen on a cluster is this hub's.
func hasOwnObjects(v dispatch.ClusterView) bool {
	ours := func(h dispatch.Holder) bool { return h == dispatch.Ours || h == dispatch.Predecessor }
	if v.Live != nil && (ours(v.Live.Copy.Holder) || ours(v.Live.Job.Holder)) {
		return true
	}
	return ours(v.Copy.Holder) || ours(v.Job.Holder)
}

// orphanFinder knows which objects on the workers are this hub's, and which of them belong to no Workload that the hub has.
type orphanFinder struct {
	client client.Reader
	fleet  *fleet.Fleet
	hub    *uptime.Hub
	remote *remoteObjects
	// kinds and origin are the reconciler's.
	kinds    jobKinds
	declared *DeclaredKinds
	origin   string
	tracker  *lockedTracker
	// adoptedHubs are former hubs whose objects are this hub's.
	adoptedHubs adoptedHubs
}

// OwnsWorkload reports whether a Workload is the hub's as far as this program knows: its cache has it, or had it. Objects of
// other names on a cluster may have been made by any user with the right to create jobs there.
func (f *orphanFinder) OwnsWorkload(key client.ObjectKey) bool {
	return !f.isWorkloadMissing(context.Background(), key) ||
		readTracker(f.tracker, func(t *tracker.Tracker) bool { return t.Deletions().Contains(admissionKey(key)) })
}

// recordObserved notes that a Workload exists which has a copy made in a time that the hub has no record of: if it goes from now on, this
// program knows that it did.
func (f *orphanFinder) recordObserved(o mirror.Original, seen mirror.Found) {
	if o.Deleted || !f.isUnrecorded(o, seen) {
		return
	}
	f.tracker.do(func(t *tracker.Tracker) {
		t.Deletions().Witness(trackedWorkload(o), string(o.EarlierSliceOf(seen.Job)))
	})
}

// isUnrecorded tells whether something that is seen was made in a time that the hub has no record of, or by a hub that it has
// adopted. What does not name its hub was made by a program that keeps no record.
func (f *orphanFinder) isUnrecorded(o mirror.Original, seen mirror.Found) bool {
	for _, obj := range seen.Objects() {
		hub := types.UID(obj.GetAnnotations()[switchyard.HubUIDAnnotation])
		if hub != "" && (slices.Contains(o.Adopted, hub) || hub == o.Hub && f.hub.IsUnrecorded(obj.GetCreationTimestamp().Time)) {
			return true
		}
	}
	return false
}

// keepsOrphan tells whether what a cluster shows of a Workload that the hub does not have is kept: a job may run there, and the hub may
// just not know. A Workload that this program has seen was deleted. People may have it removed.
func (f *orphanFinder) keepsOrphan(ctx context.Context, cluster string, orphan mirror.Original) bool {
	seen := f.remote.lookupRemote(cluster, orphan)
	if !seen.MayRun() || !f.isUnrecorded(orphan, seen) {
		return false
	}
	var known tracker.Witnessed
	var witnessed bool
	f.tracker.do(func(t *tracker.Tracker) { known, witnessed = t.Deletions().Witnessed(admissionKey(orphan.Key())) })
	witnessed = witnessed && isOfWitnessed(known, orphan, seen)
	made := time.Time{}
	for _, obj := range seen.Objects() {
		if at := obj.GetCreationTimestamp().Time; at.After(made) {
			made = at
		}
	}
	return !witnessed && !made.Before(lookupClusterInfo(ctx, f.client, &workloadScope{}, cluster).DiscardOrphansBefore)
}

// isOfWitnessed tells whether all that is seen of a Workload was made for the one that was witnessed, its job perhaps for a slice before it. An
// object that several share says nothing of it: the name under which it is filed holds the UID of the hub's object.
func isOfWitnessed(w tracker.Witnessed, orphan mirror.Original, seen mirror.Found) bool {
	objects := seen.Objects()
	if job.IsShared(orphan.Kind) && seen.Job != nil {
		objects = mirror.Found{Workload: seen.Workload}.Objects()
	}
	return !slices.ContainsFunc(objects, func(obj client.Object) bool {
		owner := obj.GetAnnotations()[switchyard.OwnerUIDAnnotation]
		return owner != w.UID && (obj != seen.Job || owner == "" || owner != w.EarlierSlice)
	})
}

// ListOrphans looks through the informers of a cluster.
func (f *orphanFinder) ListOrphans(ctx context.Context, cluster string, kinds []fleet.WatchedKind) orphans.ByHub {
	found, own, adopted := orphans.ByHub{}, f.hub.Identity(), f.adoptedHubs.get()
	for _, kind := range kinds {
		for _, obj := range f.fleet.List(cluster, kind.GVK) {
			key, ok := kind.WorkloadKey(obj)
			if other := mirror.OtherHub(obj, own, adopted); other != "" {
				if !ok {
					key = client.ObjectKeyFromObject(obj)
				}
				found.Add(other, key)
			} else if ok && f.isUnrecorded(mirror.Original{Hub: own, Adopted: adopted}, mirror.Found{Job: obj}) && f.isWorkloadMissing(ctx, key) {
				if orphan := f.buildOrphan(key); f.keepsOrphan(ctx, cluster, orphan) {
					found.Add(own, key)
				} else {
					f.fleet.RequeueWorkload(cluster, key) // somebody may have said that it is to go
				}
			}
		}
	}
	return found
}

// isWorkloadMissing tells whether, as far as the hub's cache knows, it has no such Workload.
func (f *orphanFinder) isWorkloadMissing(ctx context.Context, key client.ObjectKey) bool {
	return apierrors.IsNotFound(f.client.Get(ctx, key, &kueue.Workload{}, client.UnsafeDisableDeepCopy))
}

// HubIdentity implements orphans.Finder.
func (f *orphanFinder) HubIdentity() types.UID { return f.hub.Identity() }

// SetAdoptedHubs implements orphans.Finder.
func (f *orphanFinder) SetAdoptedHubs(hubs []types.UID) { f.adoptedHubs.set(hubs) }

// buildOrphan is the Original of a Workload that the hub does not have: kind and name of its job are taken from what is seen of
// it on the workers.
func (f *orphanFinder) buildOrphan(key client.ObjectKey) mirror.Original {
	o := mirror.Original{
		Origin: f.origin, Hub: f.hub.Identity(), Adopted: f.adoptedHubs.get(), Deleted: true,
		Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}},
	}
	var seen []jobOnWorker
	for _, state := range f.fleet.States() {
		for _, kind := range slices.Concat(f.kinds, f.declared.list()) {
			for _, obj := range f.fleet.ListForWorkload(state.Cluster, kind.GVK(), key) {
				seen = append(seen, jobOnWorker{kind, obj})
			}
		}
	}
	if made, ok := findHubJob(seen); ok {
		o.Kind, o.JobName = made.kind, made.object.GetName()
	}
	return o
}

// jobOnWorker is an object on a worker that bears the name of a hub's Workload.
type jobOnWorker struct {
	kind   job.Integration
	object client.Object
}

// findHubJob returns the one that the hub has made. Controllers on the worker may have copied its stamps to what they made for it; a hub's
// job has no controller, unless somebody gave it one: if all have, the first is taken.
func findHubJob(seen []jobOnWorker) (made jobOnWorker, found bool) {
	if len(seen) == 0 {
		return jobOnWorker{}, false
	}
	i := slices.IndexFunc(seen, func(j jobOnWorker) bool { return metav1.GetControllerOfNoCopy(j.object) == nil })
	return seen[max(i, 0)], true
}

// deletionRecorder passes all events of Workloads and notes which of them go.
func (f *orphanFinder) deletionRecorder() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		key := admissionKey(client.ObjectKeyFromObject(e.Object))
		f.tracker.do(func(t *tracker.Tracker) { t.Deletions().Record(key) })
		return true
	}}
}

// requeueDeleted makes those be looked at again that were seen to go: a cluster that showed something of them is no more.
func (f *orphanFinder) requeueDeleted() {
	for _, key := range readTracker(f.tracker, func(t *tracker.Tracker) []admission.Key { return t.Deletions().List() }) {
		f.fleet.WorkloadRequests().EnqueueLowPriority(namespacedName(key))
	}
}
