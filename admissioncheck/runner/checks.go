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

// conflictDelay is how long to let the cache catch up after somebody else's write was met: a change of the status alone is
// no event here.
const conflictDelay = 100 * time.Millisecond

// CheckReconciler keeps the condition Active of a controller's AdmissionChecks.
type CheckReconciler struct {
	Client     client.Client
	Clock      clock.PassiveClock
	Controller string
	// Validate says what is wrong with a check; nil if nothing is.
	Validate func(*kueue.AdmissionCheck) *CheckFault
	// StartWatches is called before the condition of a check is written, so that what its Workloads wait for is watched by then.
	StartWatches func() error

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
	if err := r.StartWatches(); err != nil {
		return ctrl.Result{}, fmt.Errorf("watch what AdmissionCheck %s waits for: %w", check.Name, err)
	}
	next := check.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, r.condition(check))
	switch _, err := r.written.PatchStatus(ctx, r.Client, check, next, r.Clock.Now()); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("report on AdmissionCheck %s: %w", check.Name, err)
	}
	return ctrl.Result{}, nil
}

func (r *CheckReconciler) condition(check *kueue.AdmissionCheck) metav1.Condition {
	c := metav1.Condition{
		Type: kueue.AdmissionCheckActive, Status: metav1.ConditionTrue, Reason: string(kueue.ReasonActive),
		Message: "The admission check is active", ObservedGeneration: check.Generation,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	if fault := r.Validate(check); fault != nil {
		c.Status, c.Reason = metav1.ConditionFalse, string(fault.Reason)
		c.Message = kube.Truncate(fault.Message, kube.MaxConditionMessage)
	}
	return c
}
