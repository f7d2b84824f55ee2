package controller

import (
	"context"
	"errors"
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
	"switchyard.dev/worker/workload"
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

// errLeftAlone says that nothing is decided about a Workload: the kind of its job is not served, and it may come, or a cluster may run the
// job. Work is not ended because it cannot be seen, or because its declaration has changed.
var errLeftAlone = errors.New("the kind of its job is not served as it was")

// lookupKind returns the kind of a Workload's job, and what reads the hub's jobs of it; nil if there is no such kind. Of a declared kind
// that cannot be mirrored it is known besides that it cannot.
func (r *WorkloadReconciler) lookupKind(gk schema.GroupKind, wl *kueue.Workload) (job.Integration, client.Reader, error) {
	if kind := r.Kinds.lookup(gk); kind != nil {
		return kind, r.Client, nil
	}
	is, served := r.declared.lookup(gk)
	if served && is.kind.Mirrorable() {
		return is.kind, is.jobs, nil
	}
	if mayRunElsewhere(wl) || !served && r.declared.isAwaited(gk) {
		return nil, nil, errLeftAlone
	}
	return is.kind, nil, nil
}

// mayRunElsewhere tells of a Workload that is still wanted whether a cluster may run its job.
func mayRunElsewhere(wl *kueue.Workload) bool {
	state := hubworkload.DecodeState(wl)
	return (state.Bound != "" || len(state.Debts) > 0) && wl.DeletionTimestamp.IsZero() && !workload.IsFinished(wl)
}

// notDispatchable is why jobs of a declared kind are not dispatched.
func notDispatchable(kind job.Integration) string {
	return fmt.Sprintf("%s cannot be managed by another controller: its JobKind has no spec.dispatch", kind.GVK().Kind)
}

// lookupOriginal finds the job of a Workload and how to mirror it, and says why it cannot be mirrored if so. A job that is not
// seen is no reason: it may be on its way, or gone already, and so may another be in its place.
func (r *WorkloadReconciler) lookupOriginal(ctx context.Context, wl *kueue.Workload) (mirror.Original, dispatch.Refusal, error) {
	o := mirror.Original{
		Origin: r.Origin, Hub: r.Hub.Identity(), Adopted: r.orphans.adoptedHubs.get(), Workload: wl,
		Now: r.Clock.Now(), Shape: sync.OnceValue(func() string { return mirror.Shape(wl) }),
	}
	var err error
	own, ok := hubworkload.LookupOwner(wl)
	if !ok {
		if workload.IsFinished(wl) { // its owner may have left it alone while a cluster keeps the job
			orphan := r.orphans.buildOrphan(o.Key())
			o.Kind, o.JobName = orphan.Kind, orphan.JobName
		}
		return o, dispatch.Refusal{Reason: dispatch.NoAdapter}, nil
	}
	o.JobName = own.Name
	kind, jobs, err := r.lookupKind(own.GVK.GroupKind(), wl)
	if err != nil {
		return o, dispatch.Refusal{}, err
	}
	if kind == nil {
		return o, dispatch.Refusal{Reason: dispatch.NoAdapter, Detail: own.GVK.String()}, nil
	}
	if !kind.Mirrorable() {
		return o, dispatch.Refusal{Reason: dispatch.NotManaged, Detail: notDispatchable(kind)}, nil
	}
	o.Kind = kind
	if job.HasMembers(o.Kind) {
		o.Members, err = r.listMembers(ctx, wl, own)
		if len(o.Members) > 0 {
			o.Job, o.JobName = o.Members[0], o.Members[0].GetName()
		}
		return o, dispatch.Refusal{}, err
	}
	local := o.Kind.New()
	err = jobs.Get(ctx, o.JobKey(), local, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return o, dispatch.Refusal{}, nil
	case err != nil:
		return o, dispatch.Refusal{}, fmt.Errorf("read job %s: %w", o.JobKey(), err)
	}
	if !hubworkload.IsOwnedBy(wl, own, local) || !isOwnShare(o.Kind, wl, local) {
		return o, dispatch.Refusal{}, nil
	}
	o.Job = local
	if managed, why := o.Kind.IsManagedByMultiKueue(local); !managed {
		if r.Kinds.lookup(own.GVK.GroupKind()) == nil && mayRunElsewhere(wl) {
			return o, dispatch.Refusal{}, errLeftAlone // its JobKind names another field than when it was handed over
		}
		return o, dispatch.Refusal{Reason: dispatch.NotManaged, Detail: why}, nil
	}
	return o, dispatch.Refusal{}, nil
}
