package controller

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/runner"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// admissionChecks finds the condition Active of multikueue checks (contract: multikueue.md 3); runner.CheckReconciler keeps it.
type admissionChecks struct {
	client client.Reader
}

func newAdmissionCheckReconciler(c client.Client) *runner.CheckReconciler {
	checks := admissionChecks{client: c}
	return &runner.CheckReconciler{Client: c, Clock: clock.RealClock{}, Controller: kueue.MultiKueueControllerName, Condition: checks.condition}
}

// condition finds out which clusters of the check are missing or inactive.
func (r admissionChecks) condition(ctx context.Context, ac *kueue.AdmissionCheck) (metav1.Condition, error) {
	config, err := checkconfig.FindConfig(ctx, r.client, ac)
	if err == nil {
		err = validateRunPolicies(ctx, r.client, ac, config)
	}
	if err != nil {
		return newCheckCondition(metav1.ConditionFalse, kueue.ReasonBadConfig,
			fmt.Sprintf("Cannot load the AdmissionChecks parameters: %v", err)), nil
	}
	var missing, inactive []string
	for _, name := range config.Spec.Clusters {
		cluster := &kueue.MultiKueueCluster{}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, cluster)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, name)
		case err != nil:
			return metav1.Condition{}, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
		case !meta.IsStatusConditionTrue(cluster.Status.Conditions, kueue.MultiKueueClusterActive):
			inactive = append(inactive, name)
		}
	}
	return activeCondition(len(config.Spec.Clusters), missing, inactive), nil
}

// activeCondition is the condition of a check with so many clusters, of which some are missing or inactive.
func activeCondition(total int, missing, inactive []string) metav1.Condition {
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
		return newCheckCondition(metav1.ConditionTrue, kueue.ReasonActive, "The admission check is active")
	case total:
		return newCheckCondition(metav1.ConditionFalse, kueue.ReasonNoUsableClusters, message)
	}
	return newCheckCondition(metav1.ConditionTrue, kueue.ReasonSomeActiveClusters, message)
}

func newCheckCondition(status metav1.ConditionStatus, reason kueue.Reason, message string) metav1.Condition {
	return metav1.Condition{Status: status, Reason: string(reason), Message: message}
}
