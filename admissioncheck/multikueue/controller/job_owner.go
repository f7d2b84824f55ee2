package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// jobKinds are the integrations that can be mirrored.
type jobKinds []job.Integration

// lookup returns the kind of that group and name, in whatever version it is served; nil if the hub does not dispatch it.
func (k jobKinds) lookup(gk schema.GroupKind) job.Integration {
	i := slices.IndexFunc(k, func(i job.Integration) bool { return i.GVK().GroupKind() == gk })
	if i < 0 {
		return nil
	}
	return k[i]
}

// lookupOriginal finds the job of a Workload and how to mirror it, and says why it cannot be mirrored if so. A job that is not
// seen is no reason: it may be on its way, or gone already, and so may another be in its place.
func (r *WorkloadReconciler) lookupOriginal(ctx context.Context, wl *kueue.Workload) (mirror.Original, dispatch.Refusal, error) {
	o := mirror.Original{
		Origin: r.Origin, Hub: r.Hub.Identity(), Adopted: r.orphans.adoptedHubs.get(), Workload: wl,
		Now: r.Clock.Now(), Shape: sync.OnceValue(func() string { return mirror.Shape(wl) }),
	}
	own, ok := hubworkload.LookupOwner(wl)
	if !ok {
		return o, dispatch.Refusal{Reason: dispatch.NoAdapter}, nil
	}
	o.Kind, o.JobName = r.Kinds.lookup(own.GVK.GroupKind()), own.Name
	if o.Kind == nil {
		return o, dispatch.Refusal{Reason: dispatch.NoAdapter, Detail: own.GVK.String()}, nil
	}
	local := o.Kind.New()
	err := r.Client.Get(ctx, o.JobKey(), local, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return o, dispatch.Refusal{}, nil
	case err != nil:
		return o, dispatch.Refusal{}, fmt.Errorf("read job %s: %w", o.JobKey(), err)
	}
	if !hubworkload.IsOwnedBy(wl, own, local) {
		return o, dispatch.Refusal{}, nil
	}
	o.Job = local
	if managed, why := o.Kind.IsManagedByMultiKueue(local); !managed {
		return o, dispatch.Refusal{Reason: dispatch.NotManaged, Detail: why}, nil
	}
	return o, dispatch.Refusal{}, nil
}
