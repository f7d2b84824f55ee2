// Package check keeps the condition Active of the AdmissionChecks of the multikueue controller.
package check

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	"switchyard.dev/admissioncheck/runner"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// admissionChecks finds the condition Active of multikueue checks (contract: multikueue.md 3); runner.CheckReconciler keeps it.
type admissionChecks struct {
	client client.Reader
}

// NewReconciler returns the reconciler of the condition Active of multikueue checks.
func NewReconciler(c client.Client) *runner.CheckReconciler {
	checks := admissionChecks{client: c}
	return &runner.CheckReconciler{Client: c, Clock: clock.RealClock{}, Controller: kueue.MultiKueueControllerName, Condition: checks.condition}
}

// condition finds out which clusters of the check are missing or inactive.
func (r admissionChecks) condition(ctx context.Context, ac *kueue.AdmissionCheck) (metav1.Condition, error) {
	config, err := checkconfig.FindConfig(ctx, r.client, ac)
	if err == nil {
		err = runpolicy.Validate(ctx, r.client, ac, config)
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

// Setup adds the controller of multikueue checks.
func Setup(mgr ctrl.Manager) error {
	checks := admissionChecks{client: mgr.GetClient()}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("multikueue_admissioncheck").
		For(&kueue.AdmissionCheck{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&kueue.MultiKueueConfig{}, handler.EnqueueRequestsFromMapFunc(checks.requestsForConfig),
			builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, checkconfig.AnnotationsChanged()))).
		Watches(&kueue.ClusterQueue{}, handler.EnqueueRequestsFromMapFunc(requestsForQueueChecks),
			builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, checkconfig.AnnotationsChanged()))).
		Watches(&kueue.MultiKueueCluster{}, handler.EnqueueRequestsFromMapFunc(checks.requestsForCluster), builder.WithPredicates(checkconfig.ClusterActiveChanged())).
		WithOptions(kube.ControllerOptions()).
		Complete(NewReconciler(mgr.GetClient()))
	if err != nil {
		return fmt.Errorf("controller of admission checks: %w", err)
	}
	return nil
}

// requestsForConfig returns requests for the checks that refer to a MultiKueueConfig.
func (r admissionChecks) requestsForConfig(ctx context.Context, config client.Object) []reconcile.Request {
	list := &kueue.AdmissionCheckList{}
	if err := r.client.List(ctx, list, client.MatchingFields{checkconfig.ByConfig: config.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List checks of a config")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// requestsForCluster returns requests for the checks whose config lists a cluster.
func (r admissionChecks) requestsForCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	list := &kueue.MultiKueueConfigList{}
	if err := r.client.List(ctx, list, client.MatchingFields{checkconfig.ByCluster: cluster.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List configs of a cluster")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, r.requestsForConfig(ctx, &list.Items[i])...)
	}
	return requests
}

// requestsForQueueChecks lists the checks of a ClusterQueue.
func requestsForQueueChecks(_ context.Context, obj client.Object) []reconcile.Request {
	queue, ok := obj.(*kueue.ClusterQueue)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	for _, name := range checkconfig.ListChecks(queue) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	}
	return requests
}
