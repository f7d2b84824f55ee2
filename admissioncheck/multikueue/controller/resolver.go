package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/worker/demand"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=admissionchecks;multikueueconfigs;multikueueclusters,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=patch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=list;watch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Resolver carries hub Workloads with a multikueue check through dispatch.Step.
type Resolver struct {
	// Client reads from the hub's cache; Live reads from its API server, only to make sure of what the cache shows.
	Client client.Client
	Live   client.Reader
	// Fleet is what is known of the workers and the way to act on them.
	Fleet *fleet.Fleet
	// Kinds are the integrations that can be mirrored.
	Kinds kinds
	// Origin is the hub's origin.
	Origin string
	// Hub is the hub itself; nil for one without identity.
	Hub *Hub
	// Policy holds the operator's choices.
	Policy dispatch.Policy
	// Demand are the hub's rules about the resources that a pod asks for.
	Demand demand.Rules
	// NameInLabel puts the Workload's name into a label of remote jobs (gate WorkloadIdentifierAnnotations off).
	NameInLabel bool
	Recorder    events.EventRecorder
	Clock       clock.PassiveClock

	began   beginning
	written kube.WriteTracker
	missing absentees
	cutOff  cutOff
	// capacities are what the clusters have room for, flights what is under way to them, and starving who found none.
	capacities capacities
	flights    flights
	starving   starving
	// draining says whose turn it is to leave a cluster that is being drained.
	draining draining
	held     turns // jobs that wait for the losers to be gone
	ending   turns // ends that the hub's own job controller may record
	records  records
	told     turns // when the status of a job was copied last
	gates    gates
	removals removals
	// orphans are objects of this hub's origin that it neither uses nor removes.
	orphans orphans
	// outlooks are those of the external kinds, by which the Client reads them too.
	outlooks map[schema.GroupVersionKind]*outlook
}

// NewResolver completes a Resolver whose exported fields, but for the Fleet, are set.
func NewResolver(r *Resolver) *Resolver {
	r.missing.clock = r.Clock
	r.cutOff.clock, r.cutOff.window = r.Clock, r.Policy.CutOffWindow
	return r
}

// errCatchingUp says that our own last write is still on its way to the cache.
var errCatchingUp = errors.New("the cache does not show our own last write yet")

// Reconcile asks dispatch what follows for one Workload, and does it.
func (r *Resolver) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.Hub.begin(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.began.learn(ctx, r.Live); err != nil {
		return ctrl.Result{}, err
	}
	s, err := r.observe(ctx, req.NamespacedName)
	if errors.Is(err, errCatchingUp) {
		return ctrl.Result{RequeueAfter: kube.MaxCacheLag}, nil // as a rule an event comes before; after a restore of the hub none may
	}
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	plan := dispatch.Step(s.state, s.observed, s.policy)
	r.keepLeases(s)
	r.assume(s, plan)
	done, err := r.act(ctx, s, plan)
	switch {
	case apierrors.IsConflict(err):
		// The cache was behind. A Workload's next version comes here by itself, but a job's does not if only its status moved.
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil // its deletion is on its way here
	case err != nil:
		return ctrl.Result{}, err
	}
	r.record(s, plan, done)
	r.keepBooks(s, plan)
	if s.observed.Local.Finished {
		if since := r.ending.last(s.key()); !since.IsZero() {
			r.records.add(s.observed.Now.Sub(since))
		}
		r.ending.over(s.key())
		r.told.over(s.key())
		r.gates.over(s.key())
	}
	if s.observed.Local.Finished && plan.Settled {
		r.Fleet.ForgetWorkload(s.key())
	}
	return kube.RequeueAt(kube.Earliest(plan.WakeAt, s.retryAt), s.observed.Now), nil
}

// turns remembers, of each Workload, since when it has been waiting for something that must not take long, or when
// something was done for it last.
type turns struct {
	mu    sync.Mutex
	since map[client.ObjectKey]time.Time
}

// waiting returns since when, which is now for one that has just begun.
func (t *turns) waiting(key client.ObjectKey, now time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since == nil {
		t.since = map[client.ObjectKey]time.Time{}
	}
	if _, ok := t.since[key]; !ok {
		t.since[key] = now
	}
	return t.since[key]
}

// begin sets since when.
func (t *turns) begin(key client.ObjectKey, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since == nil {
		t.since = map[client.ObjectKey]time.Time{}
	}
	t.since[key] = now
}

// last returns since when; zero for one that does not wait.
func (t *turns) last(key client.ObjectKey) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since[key]
}

// over ends the waiting.
func (t *turns) over(key client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, key)
}
