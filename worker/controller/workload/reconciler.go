package workload

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=list;watch;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues;localqueues;workloadpriorityclasses,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler leads Workloads through their life.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client
	// APIReader reads from the API server; used only for owners that no reconciler of their kind looks after.
	APIReader client.Reader
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock
	// Handles tells whether a reconciler of the owner's kind is running, which lets the Workload go when its owner is gone.
	Handles func(owner *metav1.OwnerReference) bool
	// Policy is what the configuration asks for (see [PolicyFor]).
	Policy lifecycle.Policy
}

// Reconcile leads one Workload as far as it can go now.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	wl := &kueue.Workload{} // the cache's own: act copies before it changes anything
	if err := r.Client.Get(ctx, req.NamespacedName, wl, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	observed, err := r.observe(ctx, wl)
	if err != nil {
		return ctrl.Result{}, err
	}
	state := workload.State(wl)
	plan := lifecycle.Step(state, observed)
	switch err := r.applyPlan(ctx, wl, state, plan); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ctrl.Result{}, nil // the cache was behind; what made it so is on its way here
	case err != nil:
		return ctrl.Result{}, err
	}
	r.recordEvents(wl, plan)
	return kube.RequeueAt(plan.RecheckAt, observed.Now), nil
}

// applyPlan writes the status if the plan changes it, and otherwise does the one thing that the plan asks for.
func (r *Reconciler) applyPlan(ctx context.Context, wl *kueue.Workload, state lifecycle.State, plan lifecycle.Plan) error {
	switch {
	case !plan.Next.Equal(state):
		next := wl.DeepCopy()
		workload.ApplyPlan(next, plan)
		return kube.ApplyAdmission(ctx, r.Client, next)
	case plan.Deactivate:
		next := wl.DeepCopy()
		next.Spec.Active = ptr.To(false)
		return r.patch(ctx, wl, next, "deactivate")
	case plan.Priority != nil:
		next := wl.DeepCopy()
		next.Spec.Priority = plan.Priority
		return r.patch(ctx, wl, next, "set the priority of")
	case plan.Delete:
		return r.deleteWorkload(ctx, wl)
	case plan.RemoveFinalizer && controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizer):
		next := wl.DeepCopy()
		controllerutil.RemoveFinalizer(next, kueue.ResourceInUseFinalizer)
		return r.patch(ctx, wl, next, "remove the finalizer of")
	default:
		return nil
	}
}

func (r *Reconciler) patch(ctx context.Context, before, after *kueue.Workload, doing string) error {
	if _, err := kube.Patch(ctx, r.Client, before, after); err != nil {
		return fmt.Errorf("%s workload %s/%s: %w", doing, before.Namespace, before.Name, err)
	}
	return nil
}

// deleteWorkload deletes the Workload as it was seen.
func (r *Reconciler) deleteWorkload(ctx context.Context, wl *kueue.Workload) error {
	seen := client.Preconditions{UID: &wl.UID, ResourceVersion: &wl.ResourceVersion}
	if err := r.Client.Delete(ctx, wl.DeepCopy(), seen); err != nil {
		return fmt.Errorf("delete workload %s/%s: %w", wl.Namespace, wl.Name, err)
	}
	return nil
}

func (r *Reconciler) recordEvents(wl *kueue.Workload, plan lifecycle.Plan) {
	for _, b := range plan.Events {
		kube.RecordEvents(r.Recorder, wl, kube.Event{Warning: b.Warning, Reason: string(b.Reason), Note: b.Message})
	}
}
