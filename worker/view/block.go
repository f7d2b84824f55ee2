package view

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// blockOf says what keeps a queued workload from being evaluated, or nil. A missing or inactive ClusterQueue is not said
// here: the core knows. The first that applies wins (contract: messages.md 1.2).
func (v *View) blockOf(wl *kueue.Workload, lq *localQueue, problem string) *admission.Block {
	if lq == nil {
		return &admission.Block{
			Reason:  admission.Misconfigured,
			Message: fmt.Sprintf("LocalQueue %s doesn't exist", wl.Spec.QueueName),
		}
	}
	if !lq.obj.DeletionTimestamp.IsZero() || lq.obj.Spec.StopPolicy.Stops() {
		return &admission.Block{
			Reason:  admission.Suspended,
			Message: fmt.Sprintf("LocalQueue %s is inactive", wl.Spec.QueueName),
		}
	}
	if b := v.namespaceBlock(wl.Namespace, lq); b != nil {
		return b
	}
	if problem != "" {
		return &admission.Block{Reason: admission.Misconfigured, Message: problem}
	}
	return requeueBlock(wl)
}

// namespaceBlock applies the ClusterQueue's namespaceSelector: nil selects none, {} all (contract: kueue-api.md 1.3).
func (v *View) namespaceBlock(namespace string, lq *localQueue) *admission.Block {
	cq := v.clusterQueues[string(lq.obj.Spec.ClusterQueue)]
	if cq == nil {
		return nil
	}
	if cq.selectorErr == nil && cq.selector.Matches(v.namespaces[namespace]) {
		return nil
	}
	message := "workload namespace doesn't match ClusterQueue selector"
	if cq.selectorErr != nil {
		message = "invalid namespace selector: " + cq.selectorErr.Error()
	}
	return &admission.Block{Reason: admission.Misconfigured, Message: message, LetsOthersPass: true}
}

// FailedChecksMessage is what a workload is told whose checks have not been reset yet (contract: messages.md 1.2).
const FailedChecksMessage = "The workload has failed admission checks"

// requeueBlock covers what the workload itself still waits for: a trigger that requeues it, or the reset of its checks.
func requeueBlock(wl *kueue.Workload) *admission.Block {
	requeued := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadRequeued)
	if requeued != nil && requeued.Status == metav1.ConditionFalse {
		return &admission.Block{Reason: admission.PendingEvaluation, Message: requeued.Message, LetsOthersPass: true}
	}
	for i := range wl.Status.AdmissionChecks {
		switch c := &wl.Status.AdmissionChecks[i]; c.State {
		case kueue.CheckStateRetry, kueue.CheckStateRejected:
			return &admission.Block{
				Reason: admission.PendingEvaluation, Message: FailedChecksMessage, LetsOthersPass: true,
			}
		case kueue.CheckStatePending, kueue.CheckStateReady:
		}
	}
	return nil
}
