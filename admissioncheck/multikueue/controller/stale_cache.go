package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// errStaleDecision is why a removal or an offer was given up: what it was decided on is over.
var errStaleDecision = errors.New("the hub's cache is behind its API server; nothing is removed or offered on its word")

// startVersion is the version of the hub's Workloads when this program began to dispatch them. As long as it is not known, all of them
// count as older.
type startVersion struct {
	mu      sync.Mutex
	version string
}

// ensureRead asks for it, once. A list that asks for no version has the newest one, whatever it selects; this selects nothing.
func (b *startVersion) ensureRead(ctx context.Context, live client.Reader) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.version != "" {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(workloadGVK().GroupVersion().WithKind(workloadGVK().Kind + "List"))
	nothing := client.MatchingFields{metav1.ObjectNameField: "-"}
	if err := live.List(ctx, list, client.InNamespace(metav1.NamespaceDefault), nothing); err != nil {
		return fmt.Errorf("ask for the version of the hub's workloads: %w", err)
	}
	b.version = list.ResourceVersion
	return nil
}

// precedes tells whether a version is newer.
func (b *startVersion) precedes(version string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(b.version, version)
	return err == nil && order < 0
}

// newStaleConflict is a refusal: it must not be taken for a failure of the worker.
func newStaleConflict(key client.ObjectKey, why error) error {
	return apierrors.NewConflict(schema.GroupResource{Group: kueue.GroupVersion.Group, Resource: "workloads"}, key.Name, why)
}

// isMadeFor reports whether at least one object was found, and each object found was made for the Workload with the UID or
// does not name a Workload.
func isMadeFor(uid types.UID, seen mirror.Found) bool {
	its := func(obj client.Object) bool {
		owner, stamped := obj.GetAnnotations()[switchyard.OwnerUIDAnnotation]
		return !stamped || owner == string(uid)
	}
	return (seen.Workload != nil || seen.Job != nil) && (seen.Workload == nil || its(seen.Workload)) && (seen.Job == nil || its(seen.Job))
}

// staleGuard reads the hub's API server right before something is done that an old cache must not decide.
type staleGuard struct {
	live         client.Reader
	startVersion startVersion
}

// newRemovalGuard returns what is asked right before a job is removed from a worker: whether the hub's Workload still is what the removal
// was decided on. Writes are guarded by its version, but actions are not, and the cache of a program that takes over, or of a
// leader that slept, may show a Workload that queues while it runs, or the last cluster but one. It costs a read of metadata for
// each job that is removed unfinished. That a Workload has finished, or goes, cannot change any more; nil is for those.
func (g *staleGuard) newRemovalGuard(s *workloadScope, seen mirror.Found) func(context.Context) error {
	o, l := s.original, s.observed.Local
	key, uid, version := o.Key(), o.Workload.UID, o.Workload.ResourceVersion
	own := isMadeFor(uid, seen)
	if o.Deleted || l.Finished && own {
		return nil
	}
	return func(ctx context.Context) error {
		live, err := g.readLiveMetadata(ctx, key)
		switch {
		case apierrors.IsNotFound(err): // then nobody owns what is there
			return nil
		case err != nil:
			return newStaleConflict(key, errors.New("read it from the hub's API server: "+err.Error()))
		case live.UID == uid && (live.ResourceVersion == version || l.Deleted && own):
			return g.confirmPredecessor(ctx, o, seen)
		}
		return newStaleConflict(key, errStaleDecision)
	}
}

// confirmPredecessor refuses if the job that was seen is of a Workload that the hub has and that is not older: a job that was made anew
// is not in the way of the Workload of the one before, which the garbage collector has yet to come to.
func (g *staleGuard) confirmPredecessor(ctx context.Context, o mirror.Original, seen mirror.Found) error {
	if seen.Job == nil || o.ObserveJob(seen.Job).Holder != dispatch.Predecessor {
		return nil
	}
	key, named := mirror.WorkloadKeyOfJob(seen.Job)
	if !named || key == o.Key() {
		return nil
	}
	switch live, err := g.readLiveMetadata(ctx, key); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return newStaleConflict(key, errors.New("read it from the hub's API server: "+err.Error()))
	case string(live.UID) == seen.Job.GetAnnotations()[switchyard.OwnerUIDAnnotation] && !live.CreationTimestamp.Before(&o.Workload.CreationTimestamp):
		return newStaleConflict(key, errStaleDecision)
	}
	return nil
}

// newOfferGuard returns what is asked right before an offer is made: whether the hub's Workload still is what the offer was
// decided on. A cache that shows one without a winner, while its job has run and ended, would have the job run again in the
// same epoch. Only this program writes what has changed since it began, so that only older versions cost a read of metadata.
func (g *staleGuard) newOfferGuard(o mirror.Original) func(context.Context) error {
	key, uid, version := o.Key(), o.Workload.UID, o.Workload.ResourceVersion
	return func(ctx context.Context) error {
		if g.startVersion.precedes(version) {
			return nil
		}
		switch live, err := g.readLiveMetadata(ctx, key); {
		case client.IgnoreNotFound(err) != nil:
			return newStaleConflict(key, errors.New("read it from the hub's API server: "+err.Error()))
		case err != nil || live.UID != uid || live.ResourceVersion != version:
			return newStaleConflict(key, errStaleDecision)
		}
		return nil
	}
}

// readLiveMetadata asks the hub's API server, past the cache, for a Workload's metadata only.
func (g *staleGuard) readLiveMetadata(ctx context.Context, key client.ObjectKey) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(workloadGVK())
	return live, g.live.Get(ctx, key, live)
}
