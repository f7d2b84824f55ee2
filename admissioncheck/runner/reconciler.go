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

// Workloads carries Workloads through the decisions of a Resolver.
type Workloads[O any] struct {
	// Client reads from the cache, which must have the index of [Setup].
	Client   client.Client
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Resolver Resolver[O]

	recent recent
}

// errCatchingUp says that our own last write is still on its way to the cache.
var errCatchingUp = errors.New("the cache does not show our own last write yet")

// subjects is one Workload with all its entries that this controller is asked about.
type subjects struct {
	workload *kueue.Workload
	now      time.Time
	entries  []Subject
}

// step is one entry with its answer.
type step struct {
	check  kueue.AdmissionCheckReference
	answer Answer
}

// Reconcile asks what becomes of the entries of one Workload, and writes it.
func (r *Workloads[O]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, req.NamespacedName)
	if errors.Is(err, errCatchingUp) {
		return ctrl.Result{RequeueAfter: kube.CatchUp}, nil // as a rule an event comes before; after a restore of the server none may
	}
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	steps, err := r.resolve(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	told, err := r.act(ctx, s, steps)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ctrl.Result{}, nil // the cache was behind; what made it so is on its way here
	case err != nil:
		return ctrl.Result{}, err
	}
	kube.Record(r.Recorder, s.workload, told...)
	return kube.Wake(wakeAt(steps), s.now), nil
}

// observe finds the entries to decide about; nil if there are none.
func (r *Workloads[O]) observe(ctx context.Context, key client.ObjectKey) (*subjects, error) {
	wl := &kueue.Workload{}
	switch err := r.Client.Get(ctx, key, wl); {
	case apierrors.IsNotFound(err):
		r.recent.forget(key)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read workload %s: %w", key, err)
	}
	if r.recent.newerThan(wl, r.Clock.Now()) {
		return nil, errCatchingUp
	}
	if !concerned(wl) {
		return nil, nil
	}
	s := &subjects{workload: wl, now: r.Clock.Now()}
	for _, entry := range wl.Status.AdmissionChecks {
		check, err := r.check(ctx, entry)
		if err != nil {
			return nil, err
		}
		if check != nil {
			s.entries = append(s.entries, Subject{Workload: wl, Check: check, Entry: entry, Now: s.now})
		}
	}
	if len(s.entries) == 0 {
		return nil, nil
	}
	return s, nil
}

// concerned tells whether a Workload holds quota that a check can let pass or send back.
func concerned(wl *kueue.Workload) bool {
	return wl.DeletionTimestamp.IsZero() && workload.HasQuota(wl) && !workload.IsFinished(wl) && !workload.IsEvicted(wl) &&
		workload.IsActive(wl) && len(wl.Status.AdmissionChecks) > 0
}

// check returns the AdmissionCheck of an entry if this controller is asked about it; nil otherwise.
func (r *Workloads[O]) check(ctx context.Context, entry kueue.AdmissionCheckState) (*kueue.AdmissionCheck, error) {
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
func (r *Workloads[O]) resolve(ctx context.Context, s *subjects) ([]step, error) {
	var steps []step
	for _, subject := range s.entries {
		subject.Passed = func(ctx context.Context) ([]*kueue.Workload, error) { return r.passed(ctx, s.workload) }
		observed, err := r.Resolver.Observe(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("observe for AdmissionCheck %s of workload %s/%s: %w",
				subject.Check.Name, s.workload.Namespace, s.workload.Name, err)
		}
		steps = append(steps, step{check: subject.Entry.Name, answer: r.Resolver.Resolve(observed)})
	}
	return steps, nil
}

func wakeAt(steps []step) time.Time {
	var at time.Time
	for _, s := range steps {
		at = kube.Earliest(at, s.answer.WakeAt)
	}
	return at
}
