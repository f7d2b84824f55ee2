package bench

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// hasDebt tells whether a Workload has been evicted and still holds its quota. Giving it back is its owner's work, and the benchmark's
// Workloads have no other owner than the runner.
func hasDebt(wl *kueue.Workload) bool {
	is := func(condition string) bool { return meta.IsStatusConditionTrue(wl.Status.Conditions, condition) }
	return wl.Status.Admission != nil && is(kueue.WorkloadEvicted) && !is(kueue.WorkloadFinished)
}

// releaseQuota takes the reservation of an evicted Workload away, as the reconciler of its job would once its pods are gone. A Workload
// that has changed meanwhile is seen again.
func (r *benchRunner) releaseQuota(ctx context.Context, wl *kueue.Workload) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": wl.ResourceVersion},
		"status":   map[string]any{"admission": nil, "conditions": withoutQuota(wl.Status.Conditions)},
	})
	if err != nil {
		return err
	}
	err = persist(ctx, func() error {
		target := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: wl.Namespace, Name: wl.Name}}
		return r.client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("bench"))
	})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("give back the quota of Workload %s: %w", wl.Name, err)
	}
	return nil
}

// withoutQuota are the conditions of an evicted Workload that has no quota any more and may queue again at once.
func withoutQuota(conditions []metav1.Condition) []metav1.Condition {
	next := append([]metav1.Condition(nil), conditions...)
	evicted := meta.FindStatusCondition(next, kueue.WorkloadEvicted)
	for _, c := range []metav1.Condition{
		{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: string(kueue.ReasonPendingEvaluation), Message: evicted.Message},
		{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionFalse, Reason: string(kueue.ReasonNoReservation), Message: "The workload has no reservation"},
		{Type: kueue.WorkloadRequeued, Status: metav1.ConditionTrue, Reason: evicted.Reason, Message: evicted.Message},
	} {
		c.ObservedGeneration = evicted.ObservedGeneration
		meta.SetStatusCondition(&next, c)
	}
	return next
}
