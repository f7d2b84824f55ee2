package controller

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// errBehind is why a removal was given up: what it was decided on is over.
var errBehind = errors.New("the hub's cache is behind its API server; no job is removed on its word")

// sure returns what is asked right before a job is removed from a worker: whether the hub's Workload still is what the removal
// was decided on. Writes are guarded by its version, but actions are not, and the cache of a program that takes over, or of a
// leader that slept, may show a Workload that queues while it runs, or the last cluster but one. It costs a read of metadata for
// each job that is removed unfinished. That a Workload has finished, or goes, cannot change any more; nil is for those.
func (r *Resolver) sure(s *subject, seen mirror.Found) func(context.Context) error {
	o, l := s.original, s.observed.Local
	key, uid, version := o.Key(), o.Workload.UID, o.Workload.ResourceVersion
	own := madeFor(uid, seen)
	if o.Gone || l.Finished && own {
		return nil
	}
	return func(ctx context.Context) error {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(workloadGVK())
		err := r.Live.Get(ctx, key, live)
		switch {
		case apierrors.IsNotFound(err): // then nobody owns what is there
			return nil
		case err != nil:
			return notSure(key, errors.New("read it from the hub's API server: "+err.Error()))
		case live.UID == uid && (live.ResourceVersion == version || l.Deleted && own):
			return nil
		}
		return notSure(key, errBehind)
	}
}

// notSure is a refusal: it must not be taken for a failure of the worker.
func notSure(key client.ObjectKey, why error) error {
	return apierrors.NewConflict(schema.GroupResource{Group: kueue.GroupVersion.Group, Resource: "workloads"}, key.Name, why)
}

// madeFor tells whether all that is seen, if anything is, was made for the Workload with a UID, or does not say for whom.
func madeFor(uid types.UID, seen mirror.Found) bool {
	its := func(obj client.Object) bool {
		owner, stamped := obj.GetAnnotations()[switchyard.OwnerUIDAnnotation]
		return !stamped || owner == string(uid)
	}
	return (seen.Workload != nil || seen.Job != nil) && (seen.Workload == nil || its(seen.Workload)) && (seen.Job == nil || its(seen.Job))
}
