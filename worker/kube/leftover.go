package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// withdrawLeftovers removes from the server what an apply could not: parts of the admission status that wanted lacks and that
// another field manager owns too. A check controller that applies its own entry under its own name, or a person with an
// editor, would otherwise keep a check, a reservation or a request to deactivate alive for ever. It costs a write only when
// there is something to remove, and fails with a conflict when the Workload has changed since the answer.
func withdrawLeftovers(ctx context.Context, c client.Client, answer *kueue.Workload, wanted *kueue.WorkloadStatus) error {
	if !hasLeftovers(&answer.Status, wanted) {
		return nil
	}
	cleaned := answer.DeepCopy()
	removeLeftovers(&cleaned.Status, wanted)
	if _, err := PatchStatus(ctx, c, answer, cleaned); err != nil {
		return fmt.Errorf("withdraw leftovers from workload %s/%s: %w", answer.Namespace, answer.Name, err)
	}
	*answer = *cleaned
	return nil
}

// admissionFields are the members of the admission part of a status.
func admissionFields() []string {
	return []string{
		"accumulatedPastExecutionTimeSeconds", "admission", "admissionChecks", "clusterName", "conditions", "nominatedClusterNames",
		"preemptionGates", "requeueState", "resourceRequests", "schedulingStats", "unhealthyNodes",
	}
}

// replaceAdmission writes the admission part as a merge patch, list by list. It is for an apply that the server found invalid, which
// happens when it would withdraw an entry of a list of which others own a part: the part alone makes no valid entry.
func replaceAdmission(ctx context.Context, c client.Client, wl, answer *kueue.Workload) error {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&wl.Status)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	part := map[string]any{}
	for _, name := range admissionFields() {
		part[name] = status[name] // nil removes
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": wl.UID, "resourceVersion": wl.ResourceVersion}, "status": part,
	})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return c.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, data), client.FieldOwner(AdmissionFieldOwner))
}

// hasLeftovers tells whether there is anything to remove.
func hasLeftovers(status, wanted *kueue.WorkloadStatus) bool {
	return slices.ContainsFunc(status.Conditions, extraCondition(wanted)) ||
		slices.ContainsFunc(status.AdmissionChecks, extraCheck(wanted)) ||
		wanted.Admission == nil && status.Admission != nil ||
		wanted.ClusterName == nil && status.ClusterName != nil ||
		len(wanted.NominatedClusterNames) == 0 && len(status.NominatedClusterNames) > 0 ||
		wanted.RequeueState == nil && status.RequeueState != nil ||
		len(wanted.UnhealthyNodes) == 0 && len(status.UnhealthyNodes) > 0
}

// extraCondition picks conditions of the admission part that are not wanted.
func extraCondition(wanted *kueue.WorkloadStatus) func(metav1.Condition) bool {
	return func(has metav1.Condition) bool {
		return has.Type != kueue.WorkloadPodsReady &&
			!slices.ContainsFunc(wanted.Conditions, func(c metav1.Condition) bool { return c.Type == has.Type })
	}
}

// extraCheck picks check entries that are not wanted.
func extraCheck(wanted *kueue.WorkloadStatus) func(kueue.AdmissionCheckState) bool {
	return func(has kueue.AdmissionCheckState) bool {
		return !slices.ContainsFunc(wanted.AdmissionChecks, func(c kueue.AdmissionCheckState) bool { return c.Name == has.Name })
	}
}

// removeLeftovers takes out of the status what the admission part of wanted does not have.
func removeLeftovers(status, wanted *kueue.WorkloadStatus) {
	status.Conditions = slices.DeleteFunc(status.Conditions, extraCondition(wanted))
	status.AdmissionChecks = slices.DeleteFunc(status.AdmissionChecks, extraCheck(wanted))
	if wanted.Admission == nil {
		status.Admission = nil
	}
	if wanted.ClusterName == nil {
		status.ClusterName = nil
	}
	if len(wanted.NominatedClusterNames) == 0 {
		status.NominatedClusterNames = nil
	}
	if wanted.RequeueState == nil {
		status.RequeueState = nil
	}
	if len(wanted.UnhealthyNodes) == 0 {
		status.UnhealthyNodes = nil
	}
}
