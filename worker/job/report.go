package job

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// observeReport finds out whether the Workload's PodsReady condition and reclaimable pods are what the job says.
func (r *reconciler[T]) observeReport(s *sight[T]) {
	progress := r.kind.Progress(s.job)
	if r.opts.WaitForPodsReady {
		s.ready = podsReady(s.wl, progress.Ready && s.facts.Admitted && !s.facts.Evicted, s.facts.Now)
	}
	changed := false
	if r.opts.Gates.ReclaimablePods {
		s.reclaimable, changed = reclaimable(s.wl, progress.Reclaimable)
	}
	s.facts.StatusOutdated = s.ready != nil || changed
}

// podsReady returns the condition to write, nil if the present one is right (contract: kueue-api.md 1.13, PodsReady). As
// long as pods have never been ready there is no condition, which says the same as False with WaitForStart.
func podsReady(wl *kueue.Workload, ready bool, now time.Time) *metav1.Condition {
	was := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	isTrue := was != nil && was.Status == metav1.ConditionTrue
	if ready == isTrue {
		return nil
	}
	c := &metav1.Condition{
		Type: kueue.WorkloadPodsReady, LastTransitionTime: metav1.NewTime(now), ObservedGeneration: wl.Generation,
	}
	admitted := meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadAdmitted)
	switch {
	case ready && was != nil && was.Reason == string(kueue.ReasonWaitForRecovery):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, string(kueue.ReasonRecovered), "All pods are ready again"
	case ready:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, string(kueue.ReasonStarted), "All pods are ready or have succeeded"
	case admitted:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(kueue.ReasonWaitForRecovery), "At least one pod is not ready any more"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(kueue.ReasonWaitForStart), "Not all pods are ready or have succeeded"
	}
	return c
}

// reclaimable returns the list to write and whether it differs. While quota is reserved a count can only grow (contract:
// kueue-api.md 1.15, WL status).
func reclaimable(wl *kueue.Workload, free []kueue.ReclaimablePod) ([]kueue.ReclaimablePod, bool) {
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
	for i := range wl.Spec.PodSets {
		name := wl.Spec.PodSets[i].Name
		count := min(now[name], wl.Spec.PodSets[i].Count)
		if reserved {
			count = max(count, had[name])
		}
		if count > 0 {
			list = append(list, kueue.ReclaimablePod{Name: name, Count: count})
		}
	}
	return list, !equality.Semantic.DeepEqual(list, wl.Status.ReclaimablePods)
}

// report writes what observeReport found. The two parts have managers of their own and so are two writes (contract:
// kueue-api.md 2.5).
func (r *reconciler[T]) report(ctx context.Context, s *sight[T]) error {
	if s.ready != nil {
		condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.ready)
		if err != nil {
			return fmt.Errorf("convert condition %s: %w", s.ready.Type, err)
		}
		manager := kueue.JobControllerManagerPrefix + s.ready.Type
		if err := r.applyStatus(ctx, s.wl, manager, map[string]any{"conditions": []any{condition}}); err != nil {
			return err
		}
	}
	if _, changed := reclaimable(s.wl, s.reclaimable); !changed || !r.opts.Gates.ReclaimablePods {
		return nil
	}
	list := make([]any, len(s.reclaimable))
	for i, p := range s.reclaimable {
		list[i] = map[string]any{"name": string(p.Name), "count": int64(p.Count)}
	}
	return r.applyStatus(ctx, s.wl, kueue.ReclaimablePodsManager, map[string]any{"reclaimablePods": list})
}

func (r *reconciler[T]) applyStatus(ctx context.Context, wl *kueue.Workload, manager string, status map[string]any) error {
	part := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kueue.GroupVersion.String(), "kind": "Workload",
		"metadata": map[string]any{"name": wl.Name, "namespace": wl.Namespace, "uid": string(wl.UID)},
		"status":   status,
	}}
	err := r.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(part), client.FieldOwner(manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply status of workload %s/%s as %s: %w", wl.Namespace, wl.Name, manager, err)
	}
	return nil
}
