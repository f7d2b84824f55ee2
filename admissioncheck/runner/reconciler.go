package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads;admissionchecks,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// WorkloadReconciler carries Workloads through the decisions of a Resolver.
type WorkloadReconciler[O any] struct {
	// Client reads from the cache, which must have the index of [Setup].
	Client   client.Client
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Resolver Resolver[O]

	// recentWrites are Workloads as they were written last: two Workloads must not both be promised the same thing because the first promise
	// is still on its way to the cache.
	recentWrites kube.Expectations[*kueue.Workload]
}

// errCacheBehind says that our own last write is still on its way to the cache.
var errCacheBehind = errors.New("the cache does not show our own last write yet")

// workloadScope is one Workload with all its entries that this controller is asked about.
type workloadScope struct {
	workload *kueue.Workload
	now      time.Time
	entries  []CheckScope
}

// checkUpdate is one entry with its answer.
type checkUpdate struct {
	check  kueue.AdmissionCheckReference
	result CheckResult
}

// Reconcile asks what becomes of the entries of one Workload, and writes it.
func (r *WorkloadReconciler[O]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, req.NamespacedName)
	if errors.Is(err, errCacheBehind) {
		return ctrl.Result{RequeueAfter: kube.MaxCacheLag}, nil // as a rule an event comes before; after a restore of the server none may
	}
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	steps, err := r.resolve(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	told, err := r.applyResults(ctx, s, steps)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ctrl.Result{}, nil // the cache was behind; what made it so is on its way here
	case err != nil:
		return ctrl.Result{}, err
	}
	kube.RecordEvents(r.Recorder, s.workload, told...)
	return kube.RequeueAt(earliestRecheck(steps), s.now), nil
}

// observe finds the entries to decide about; nil if there are none.
func (r *WorkloadReconciler[O]) observe(ctx context.Context, key client.ObjectKey) (*workloadScope, error) {
	wl := &kueue.Workload{}
	switch err := r.Client.Get(ctx, key, wl); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read workload %s: %w", key, err)
	}
	if r.recentWrites.IsNewerThan(wl, r.Clock.Now()) {
		return nil, errCacheBehind
	}
	if !needsCheck(wl) {
		return nil, nil
	}
	s := &workloadScope{workload: wl, now: r.Clock.Now()}
	for _, entry := range wl.Status.AdmissionChecks {
		check, err := r.lookupCheck(ctx, entry)
		if err != nil {
			return nil, err
		}
		if check != nil {
			s.entries = append(s.entries, CheckScope{Workload: wl, Check: check, Entry: entry, Now: s.now})
		}
	}
	if len(s.entries) == 0 {
		return nil, nil
	}
	return s, nil
}

// needsCheck tells whether a Workload holds quota that a check can let pass or send back.
func needsCheck(wl *kueue.Workload) bool {
	return wl.DeletionTimestamp.IsZero() && workload.HasQuota(wl) && !workload.IsFinished(wl) && !workload.IsEvicted(wl) &&
		workload.IsActive(wl) && len(wl.Status.AdmissionChecks) > 0
}

// lookupCheck returns the AdmissionCheck of an entry if this controller is asked about it; nil otherwise.
func (r *WorkloadReconciler[O]) lookupCheck(ctx context.Context, entry kueue.AdmissionCheckState) (*kueue.AdmissionCheck, error) {
	if entry.State != kueue.CheckStatePending && entry.State != kueue.CheckStateReady {
		return nil, nil
	}
	check := &kueue.AdmissionCheck{}
	switch err := r.Client.Get(ctx, client.ObjectKey{Name: string(entry.Name)}, check); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read AdmissionCheck %s: %w", entry.Name, err)
	case check.Spec.ControllerName != r.Resolver.Controller:
		return nil, nil
	}
	return check, nil
}

// resolve asks the Resolver about each entry.
func (r *WorkloadReconciler[O]) resolve(ctx context.Context, s *workloadScope) ([]checkUpdate, error) {
	var steps []checkUpdate
	for _, subject := range s.entries {
		subject.ListPassed = func(ctx context.Context) ([]*kueue.Workload, error) { return r.listPassed(ctx, s.workload) }
		observed, err := r.Resolver.Observe(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("observe for AdmissionCheck %s of workload %s/%s: %w",
				subject.Check.Name, s.workload.Namespace, s.workload.Name, err)
		}
		steps = append(steps, checkUpdate{check: subject.Entry.Name, result: r.Resolver.Resolve(observed)})
	}
	return steps, nil
}

func earliestRecheck(steps []checkUpdate) time.Time {
	var at time.Time
	for _, s := range steps {
		at = kube.Earliest(at, s.result.RecheckAt)
	}
	return at
}
