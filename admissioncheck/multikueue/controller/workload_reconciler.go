package controller

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/capacity"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/external"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/uptime"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/podrequests"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=admissionchecks;multikueueconfigs;multikueueclusters,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=patch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=list;watch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// WorkloadReconciler carries hub Workloads with a multikueue check through dispatch.Step.
type WorkloadReconciler struct {
	// Client reads from the hub's cache; Live reads from its API server, only to make sure of what the cache shows.
	Client    client.Client
	APIReader client.Reader
	// Members reads the hub's pods from its cache, which the Client does not.
	Members client.Reader
	// Fleet is what is known of the workers and the way to act on them.
	Fleet *fleet.Fleet
	// Kinds are the integrations that can be mirrored.
	Kinds jobKinds
	// Origin is the hub's origin.
	Origin string
	// Hub is the hub itself; nil for one without identity.
	Hub *uptime.Hub
	// Policy holds the operator's choices.
	Policy dispatch.Policy
	// PodRequestRules are the hub's rules about the resources that a pod asks for.
	PodRequestRules podrequests.Rules
	// NameInLabel puts the Workload's name into a label of remote jobs (gate WorkloadIdentifierAnnotations off).
	NameInLabel bool
	// WaitForPodsReady makes it report the condition PodsReady where nothing on the hub can.
	WaitForPodsReady bool
	Recorder         events.EventRecorder
	Clock            clock.PassiveClock

	writes kube.WriteTracker
	// tracker is what the dispatcher has done and cannot see yet.
	tracker *lockedTracker
	// capacities are what the clusters have room for.
	capacities *capacity.Cache

	// The parts. Each has what it needs of the above.
	index    *workloadIndex
	remote   *remoteObjects
	links    *linkObserver
	ranker   *ranker
	orphans  *orphanFinder
	statuses *statusCopier
	guard    *staleGuard
	// externalCaches are those of the external kinds, by which the Client reads them too.
	externalCaches external.Caches
	// declared are the kinds that come and go; nil where there are none.
	declared *DeclaredKinds
}

// NewWorkloadReconciler completes a WorkloadReconciler whose exported fields, but for the Fleet, are set.
func NewWorkloadReconciler(r *WorkloadReconciler) *WorkloadReconciler {
	r.tracker = newLockedTracker(r.Policy.CutOffWindow)
	r.index, r.remote = &workloadIndex{client: r.Client}, &remoteObjects{}
	r.links = &linkObserver{client: r.Client, index: r.index, tracker: r.tracker, clock: r.Clock}
	r.ranker = &ranker{client: r.Client, tracker: r.tracker, rules: &r.PodRequestRules}
	r.orphans = &orphanFinder{client: r.Client, hub: r.Hub, remote: r.remote, kinds: r.Kinds, declared: r.declared, origin: r.Origin, tracker: r.tracker}
	r.statuses = &statusCopier{client: r.Client, clock: r.Clock, writes: &r.writes, tracker: r.tracker}
	r.guard = &staleGuard{live: r.APIReader}
	return r
}

// SetFleet gives the reconciler its Fleet, which is made with the reconciler's callbacks and therefore after it.
func (r *WorkloadReconciler) SetFleet(f *fleet.Fleet) {
	r.Fleet, r.remote.fleet, r.links.fleet, r.orphans.fleet = f, f, f, f
	r.capacities = capacity.NewCache(f)
	r.ranker.capacities = r.capacities
}

// errCacheBehind says that our own last write is still on its way to the cache.
var errCacheBehind = errors.New("the cache does not show our own last write yet")

// errSliceBehind says the same of another slice of the same job. No event of that need come here.
var errSliceBehind = errors.New("the cache does not show our own last write of another slice yet")

// Reconcile asks dispatch what follows for one Workload, and does it.
func (r *WorkloadReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.Hub.EnsureRegistered(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.guard.startVersion.ensureRead(ctx, r.APIReader); err != nil {
		return ctrl.Result{}, err
	}
	s, err := r.observe(ctx, req.NamespacedName)
	if errors.Is(err, errCacheBehind) {
		return ctrl.Result{RequeueAfter: kube.MaxCacheLag}, nil // as a rule an event comes before; after a restore of the hub none may
	}
	if errors.Is(err, errSliceBehind) {
		return ctrl.Result{RequeueAfter: cacheEchoDelay}, nil
	}
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	plan := dispatch.Step(s.state, s.observed, s.policy)
	r.requestLeaseRenewals(s)
	r.ranker.assumeNominations(s, plan)
	err = r.copyMembers(ctx, s)
	if err == nil && plan.Reason == dispatch.ResultUnknown {
		err = r.endMembers(ctx, s, false, plan.Message)
	}
	if err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
		}
		return ctrl.Result{}, err
	}
	done, err := r.executePlan(ctx, s, plan)
	switch {
	case apierrors.IsConflict(err):
		// The cache was behind. A Workload's next version comes here by itself, but a job's does not if only its status moved.
		return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil // its deletion is on its way here
	case err != nil:
		return ctrl.Result{}, err
	}
	if err := r.reportReadiness(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	r.recordChange(s, plan, done)
	r.observeDone(s, plan)
	if s.observed.Local.Finished && plan.NothingReachable && !s.original.Slice.Passive { // what is known of a passive slice's job is another's to use
		r.Fleet.ForgetWorkload(s.key())
		for _, slice := range s.original.Slice.Earlier {
			r.Fleet.ForgetWorkload(slice.ObjectKey)
		}
	}
	return kube.RequeueAt(kube.Earliest(plan.WakeAt, s.retryAt), s.observed.Now), nil
}
