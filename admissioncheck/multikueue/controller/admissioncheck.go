package controller

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=admissionchecks/status,verbs=patch

// AdmissionCheck keeps the condition Active of multikueue checks (contract: multikueue.md 3).
type AdmissionCheck struct {
	Client client.Client
	Clock  clock.PassiveClock

	written kube.WriteTracker
}

// Reconcile writes the condition of one check if it has changed.
func (r *AdmissionCheck) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ac := &kueue.AdmissionCheck{}
	if err := r.Client.Get(ctx, req.NamespacedName, ac); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if ac.Spec.ControllerName != kueue.MultiKueueControllerName {
		return ctrl.Result{}, nil
	}
	condition, err := r.usable(ctx, ac)
	if err != nil {
		return ctrl.Result{}, err
	}
	condition.ObservedGeneration = ac.Generation
	condition.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	next := ac.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, condition)
	switch _, err := r.written.PatchStatus(ctx, r.Client, ac, next, r.Clock.Now()); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("report on AdmissionCheck %s: %w", ac.Name, err)
	}
	return ctrl.Result{}, nil
}

// usable finds out which clusters of the check are missing or inactive.
func (r *AdmissionCheck) usable(ctx context.Context, ac *kueue.AdmissionCheck) (metav1.Condition, error) {
	config, err := configOf(ctx, r.Client, ac)
	if err == nil {
		err = runPolicies(ctx, r.Client, ac, config)
	}
	if err != nil {
		return checkCondition(metav1.ConditionFalse, kueue.ReasonBadConfig,
			fmt.Sprintf("Cannot load the AdmissionChecks parameters: %v", err)), nil
	}
	var missing, inactive []string
	for _, name := range config.Spec.Clusters {
		cluster := &kueue.MultiKueueCluster{}
		err := r.Client.Get(ctx, client.ObjectKey{Name: name}, cluster)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, name)
		case err != nil:
			return metav1.Condition{}, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
		case !meta.IsStatusConditionTrue(cluster.Status.Conditions, kueue.MultiKueueClusterActive):
			inactive = append(inactive, name)
		}
	}
	return judge(len(config.Spec.Clusters), missing, inactive), nil
}

// judge is the condition of a check with so many clusters, of which some are missing or inactive.
func judge(total int, missing, inactive []string) metav1.Condition {
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, fmt.Sprintf("Missing clusters: %v", missing))
	}
	if len(inactive) > 0 {
		parts = append(parts, fmt.Sprintf("Inactive clusters: %v", inactive))
	}
	message := strings.Join(parts, ", ")
	switch len(missing) + len(inactive) {
	case 0:
		return checkCondition(metav1.ConditionTrue, kueue.ReasonActive, "The admission check is active")
	case total:
		return checkCondition(metav1.ConditionFalse, kueue.ReasonNoUsableClusters, message)
	}
	return checkCondition(metav1.ConditionTrue, kueue.ReasonSomeActiveClusters, message)
}

func checkCondition(status metav1.ConditionStatus, reason kueue.Reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: kueue.AdmissionCheckActive, Status: status, Reason: string(reason),
		Message: kube.Truncate(message, kube.MaxConditionMessage),
	}
}
