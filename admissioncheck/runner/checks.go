package runner

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=admissionchecks,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=admissionchecks/status,verbs=patch

// conflictDelay is how long to let the cache catch up after a conflict with another writer: a change of the status alone is
// no event here.
const conflictDelay = 100 * time.Millisecond

// CheckReconciler keeps the condition Active of a controller's AdmissionChecks.
type CheckReconciler struct {
	Client     client.Client
	Clock      clock.PassiveClock
	Controller string
	// Condition returns how Active should be: status, reason and message; the rest is filled in. An error is one of reading.
	Condition func(context.Context, *kueue.AdmissionCheck) (metav1.Condition, error)

	written kube.WriteTracker
}

// Reconcile writes the condition of one check if it has changed.
func (r *CheckReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	check := &kueue.AdmissionCheck{}
	if err := r.Client.Get(ctx, req.NamespacedName, check); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if check.Spec.ControllerName != r.Controller {
		return ctrl.Result{}, nil
	}
	condition, err := r.Condition(ctx, check)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("find the condition of AdmissionCheck %s: %w", check.Name, err)
	}
	condition.Type, condition.ObservedGeneration = kueue.AdmissionCheckActive, check.Generation
	condition.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	condition.Message = kube.Truncate(condition.Message, kube.MaxConditionMessage)
	next := check.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, condition)
	switch _, err := r.written.PatchStatus(ctx, r.Client, check, next, r.Clock.Now()); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("report on AdmissionCheck %s: %w", check.Name, err)
	}
	return ctrl.Result{}, nil
}

// activeCondition is Active for a check with a fault, or with none.
func activeCondition(fault *CheckFault) metav1.Condition {
	if fault != nil {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: string(fault.Reason), Message: fault.Message}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: string(kueue.ReasonActive), Message: "The admission check is active"}
}
