package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// observeReport finds out whether the Workload's PodsReady condition and reclaimable pods are what the job says.
func (r *reconciler[T]) observeReport(ctx context.Context, s *snapshot[T]) error {
	progress, err := r.kind.readProgress(ctx, r.newReader(), s.job)
	if err != nil {
		return err
	}
	if r.opts.WaitForPodsReady && (progress.Ready || s.slices.next == nil) { // Pods that wait for the next slice have not failed.
		s.ready = podsReady(s.wl, progress.Ready && s.facts.Admitted, s.facts.Now)
	}
	changed := false
	if r.opts.Gates.ReclaimablePods {
		s.reclaimable, changed = reclaimablePods(s.wl, progress.Reclaimable)
	}
	s.facts.StatusOutdated = s.ready != nil || changed
	return nil
}

// podsReady returns the condition to write, nil if the present one is right (contract: kueue-api.md 1.13, PodsReady). As
// long as pods have never been ready the admission says so (workload.SetPodsNotReady), and no condition means the same. What was said
// in an earlier admission is past: its pods are not those that are waited for now.
func podsReady(wl *kueue.Workload, ready bool, now time.Time) *metav1.Condition {
	was := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	if was == nil && !ready {
		return nil
	}
	c := &metav1.Condition{Type: kueue.WorkloadPodsReady, ObservedGeneration: wl.Generation, LastTransitionTime: metav1.NewTime(now)}
	current := isOfThisAdmission(wl, was)
	switch {
	case ready && current && was.Reason == string(kueue.ReasonRecovered),
		ready && current && was.Status == metav1.ConditionFalse && was.Reason == string(kueue.ReasonWaitForRecovery):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, string(kueue.ReasonRecovered), "All pods reached readiness and the workload is running"
	case ready:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, string(kueue.ReasonStarted), "All pods reached readiness and the workload is running"
	case current && (was.Status == metav1.ConditionTrue || was.Reason == string(kueue.ReasonWaitForRecovery)):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(kueue.ReasonWaitForRecovery), "At least one pod has failed, waiting for recovery"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(kueue.ReasonWaitForStart), "Not all pods are ready or succeeded"
	}
	switch {
	case was == nil || was.Status != c.Status:
	case was.Reason == c.Reason && (current || !ready):
		return nil
	case !ready:
		c.LastTransitionTime = was.LastTransitionTime
	}
	return c
}

// isOfThisAdmission tells whether the condition is about the pods of the present admission.
func isOfThisAdmission(wl *kueue.Workload, c *metav1.Condition) bool {
	admitted := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
	return c != nil && admitted != nil && admitted.Status == metav1.ConditionTrue && !c.LastTransitionTime.Before(&admitted.LastTransitionTime)
}

// reclaimablePods returns the list to write and whether it differs. While quota is reserved a count can only grow (contract:
// kueue-api.md 1.15, WL status). That no pod needs its quota any more is not said: the job is about to end, which frees it
// all, and pods that terminate still use theirs.
func reclaimablePods(wl *kueue.Workload, free []kueue.ReclaimablePod) ([]kueue.ReclaimablePod, bool) {
	had := map[kueue.PodSetReference]int32{}
	for _, p := range wl.Status.ReclaimablePods {
		had[p.Name] = p.Count
	}
	now := map[kueue.PodSetReference]int32{}
	for _, p := range free {
		now[p.Name] = p.Count
	}
	reserved := wl.Status.Admission != nil
	var list []kueue.ReclaimablePod
	ending := reserved
	for i := range wl.Spec.PodSets {
		name := wl.Spec.PodSets[i].Name
		count := min(now[name], wl.Spec.PodSets[i].Count)
		ending = ending && count >= admittedCount(wl, &wl.Spec.PodSets[i])
		if reserved {
			count = max(count, had[name])
		}
		if count > 0 {
			list = append(list, kueue.ReclaimablePod{Name: name, Count: count})
		}
	}
	if ending {
		return wl.Status.ReclaimablePods, false
	}
	return list, !equality.Semantic.DeepEqual(list, wl.Status.ReclaimablePods)
}

// admittedCount is how many pods of the pod set hold quota, if the Workload does.
func admittedCount(wl *kueue.Workload, ps *kueue.PodSet) int32 {
	if wl.Status.Admission != nil {
		if a := assignment(wl, ps.Name); a != nil {
			return ptr.Deref(a.Count, ps.Count)
		}
	}
	return ps.Count
}

// updateStatus writes what observeReport found. The two parts have managers of their own and so are two writes (contract:
// kueue-api.md 2.5).
func (r *reconciler[T]) updateStatus(ctx context.Context, s *snapshot[T]) error {
	if s.ready != nil {
		manager := kueue.JobControllerManagerPrefix + s.ready.Type
		if err := r.writer.applyStatus(ctx, s.wl, manager, map[string]any{"conditions": []metav1.Condition{*s.ready}}); err != nil {
			return err
		}
	}
	if _, changed := reclaimablePods(s.wl, s.reclaimable); !changed || !r.opts.Gates.ReclaimablePods {
		return nil
	}
	return r.writer.applyStatus(ctx, s.wl, kueue.ReclaimablePodsManager, map[string]any{"reclaimablePods": append([]kueue.ReclaimablePod{}, s.reclaimable...)}) // none is [], not null
}

// applyStatus applies a part of the Workload's status as a field manager of its own. The UID keeps it off a Workload that
// was made anew.
func (w *writer) applyStatus(ctx context.Context, wl *kueue.Workload, manager string, status map[string]any) error {
	data, err := json.Marshal(map[string]any{
		"apiVersion": kueue.GroupVersion.String(), "kind": "Workload",
		"metadata": map[string]any{"name": wl.Name, "namespace": wl.Namespace, "uid": wl.UID},
		"status":   status,
	})
	if err != nil {
		return fmt.Errorf("encode status of workload %s/%s: %w", wl.Namespace, wl.Name, err)
	}
	answer := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: wl.Namespace, Name: wl.Name}}
	err = w.client.Status().Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply status of workload %s/%s as %s: %w", wl.Namespace, wl.Name, manager, err)
	}
	w.written.Record(answer, w.clock.Now())
	return nil
}
