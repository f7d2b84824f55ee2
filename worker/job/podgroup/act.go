package podgroup

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hashicorp/go-multierror"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/kube"
)

const (
	// maxChanges bounds how many pods are changed in one look, so that a large group can be stopped while it is being started.
	maxChanges = 200
	// changesAtOnce is how many calls about the pods of one group are under way at a time.
	changesAtOnce = 8
	// fieldOwner is the field manager of the condition TerminationTarget (contract: job-kinds.md 10.4).
	fieldOwner = "kueue"
)

// act carries the plan out: pods first, then the Workload. Rest tells that pods are left for the next look, and the Workload with them.
func (r *reconciler) act(ctx context.Context, s *snapshot, p plan.Plan) (rest bool, err error) {
	changes := p.Pods
	if rest = len(changes) > maxChanges; rest {
		changes = changes[:maxChanges]
	}
	if err := r.changePods(ctx, s, p, changes); err != nil || rest {
		return rest, err
	}
	return false, r.changeWorkload(ctx, s, p)
}

// changePods changes pods, several at a time. Those whose change failed are changed in a later look.
func (r *reconciler) changePods(ctx context.Context, s *snapshot, p plan.Plan, changes []plan.Change) error {
	var mu sync.Mutex
	var failed *multierror.Error
	conflicts := 0
	workqueue.ParallelizeUntil(ctx, changesAtOnce, len(changes), func(i int) {
		err := r.changePod(ctx, s, p, changes[i])
		if err == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if apierrors.IsConflict(err) {
			conflicts++
		}
		failed = multierror.Append(failed, err)
	})
	if failed != nil && conflicts == len(failed.Errors) {
		return failed.Errors[0]
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return failed.ErrorOrNil()
}

// changePod takes the steps of one change, and then tells the pod's readers.
func (r *reconciler) changePod(ctx context.Context, s *snapshot, p plan.Plan, c plan.Change) error {
	pod := s.pods[c.Member]
	if c.Ungate {
		return r.ungate(ctx, s, c.Member)
	}
	if c.Finalize {
		freed := pod.DeepCopy()
		controllerutil.RemoveFinalizer(freed, kueue.ManagedFinalizer)
		if err := r.writer.Patch(ctx, pod, freed); err != nil {
			return err
		}
	}
	if c.Tell {
		if err := r.tell(ctx, s, pod, p.Reason); err != nil {
			return err
		}
	}
	if c.Delete {
		if err := r.deletePod(ctx, s, pod); err != nil {
			return err
		}
	}
	kube.RecordEvents(r.recorder, pod, s.changeEvents(p, c)...)
	return nil
}

// ungate lets a pod go with what was admitted for it.
func (r *reconciler) ungate(ctx context.Context, s *snapshot, i int) error {
	next, err := r.ungated(s, i)
	if err != nil {
		return fmt.Errorf("place pod %s/%s: %w", s.pods[i].Namespace, s.pods[i].Name, err)
	}
	if err := r.writer.Patch(ctx, s.pods[i], next); err != nil {
		return err
	}
	if r.opts.Ungated != nil {
		r.opts.Ungated(s.wl, kueue.AdmissionSchedulingGate, s.facts.Now)
	}
	if s.facts.Single || i == s.firstUngated() {
		note := fmt.Sprintf("Admitted by clusterQueue %s", s.wl.Status.Admission.ClusterQueue)
		kube.RecordEvents(r.recorder, s.pods[i], kube.Event{Reason: kueue.EventStarted, Note: note})
	}
	return nil
}

// firstUngated is the pod that is told that its group was admitted: the first of all, negative if another look has told it.
func (s *snapshot) firstUngated() int {
	first := -1
	for i := range s.facts.Members {
		switch m := &s.facts.Members[i]; {
		case !m.Gated:
			return -1
		case first < 0 && !m.Deleting:
			first = i
		}
	}
	return first
}

// tell applies a condition that says why the pod is going to be deleted. The UID keeps it off a pod that was made anew.
func (r *reconciler) tell(ctx context.Context, s *snapshot, pod *corev1.Pod, because plan.Reason) error {
	data, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": pod.Name, "namespace": pod.Namespace, "uid": pod.UID},
		"status": map[string]any{"conditions": []map[string]any{{
			"type": kueue.PodTerminationTarget, "status": corev1.ConditionTrue, "reason": s.stopReason(because),
			"message": kube.Truncate(s.stopMessage(because), kube.MaxConditionMessage), "lastTransitionTime": metav1.NewTime(s.facts.Now),
		}}},
	})
	if err != nil {
		return fmt.Errorf("encode the condition of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	answer := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err = r.client.Status().Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(fieldOwner), client.ForceOwnership)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tell pod %s/%s to terminate: %w", pod.Namespace, pod.Name, err)
	}
	r.writer.Record(answer)
	return nil
}

// deletePod deletes the pod that was seen.
func (r *reconciler) deletePod(ctx context.Context, s *snapshot, pod *corev1.Pod) error {
	err := r.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	r.pending.recordDeletion(pod, s.facts.Now)
	return nil
}
