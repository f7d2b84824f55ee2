package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// AdmissionFieldOwner is the field manager that owns the admission part of a Workload's status: everything but
// reclaimablePods and the PodsReady condition, which the job's reconciler owns (contract: kueue-api.md 2.5). That pods have
// never been ready (PodsReady=False, WaitForStart) goes with the admission, and is part of it until the job says otherwise.
const AdmissionFieldOwner = "kueue-admission"

// ApplyAdmission makes the admission part of the Workload's status on the server equal to that of wl, as one
// server-side apply. Fields that wl lacks are removed, in a second write if others own them too. The write fails with a
// conflict when the Workload has changed since wl was read, so a decision taken on a stale cache is never recorded. On
// success wl holds the server's answer.
//
// Pass a deep copy of a cached object with the new status; nothing else of it is written.
func ApplyAdmission(ctx context.Context, c client.Client, wl *kueue.Workload) error {
	data, err := json.Marshal(map[string]any{
		"apiVersion": kueue.GroupVersion.String(),
		"kind":       "Workload",
		"metadata": map[string]any{
			"name": wl.Name, "namespace": wl.Namespace, "uid": wl.UID, "resourceVersion": wl.ResourceVersion,
		},
		"status": admissionPart(&wl.Status),
	})
	if err != nil {
		return fmt.Errorf("encode admission status of workload %s/%s: %w", wl.Namespace, wl.Name, err)
	}
	// A fresh object takes the answer: decoding over wl would keep fields that the server has dropped.
	answer := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: wl.Namespace, Name: wl.Name}}
	err = c.Status().Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data),
		client.FieldOwner(AdmissionFieldOwner), client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		err = replaceAdmission(ctx, c, wl, answer)
	}
	if err != nil {
		return fmt.Errorf("apply admission status of workload %s/%s: %w", wl.Namespace, wl.Name, err)
	}
	if err := withdrawLeftovers(ctx, c, answer, &wl.Status); err != nil {
		return err
	}
	*wl = *answer
	return nil
}

// admissionPart returns the part of a status that the admission field manager owns: all but reclaimable pods, and PodsReady
// unless the admission itself has set it.
func admissionPart(status *kueue.WorkloadStatus) *kueue.WorkloadStatus {
	part := status.DeepCopy()
	part.ReclaimablePods = nil
	kept := part.Conditions[:0]
	for _, c := range part.Conditions {
		if c.Type != kueue.WorkloadPodsReady || waitsForStart(c) {
			kept = append(kept, c)
		}
	}
	part.Conditions = kept
	return part
}

func waitsForStart(ready metav1.Condition) bool {
	return ready.Status == metav1.ConditionFalse && ready.Reason == string(kueue.ReasonWaitForStart)
}
