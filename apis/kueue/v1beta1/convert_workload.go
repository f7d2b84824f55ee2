package v1beta1

import (
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"switchyard.dev/apis/kueue/v1beta2"
)

// ConvertTo writes the workload into a *v1beta2.Workload, sharing memory. A class
// name without source says nothing about its kind and is dropped.
func (w *Workload) ConvertTo(hub conversion.Hub) error {
	to := hub.(*v1beta2.Workload)
	to.ObjectMeta = w.ObjectMeta
	to.Spec = v1beta2.WorkloadSpec{
		PodSets:                     each(w.Spec.PodSets, podSetToHub),
		QueueName:                   w.Spec.QueueName,
		PriorityClassRef:            priorityClassRef(w.Spec.PriorityClassSource, w.Spec.PriorityClassName),
		Priority:                    w.Spec.Priority,
		Active:                      w.Spec.Active,
		MaximumExecutionTimeSeconds: w.Spec.MaximumExecutionTimeSeconds,
	}
	from := &w.Status
	to.Status = v1beta2.WorkloadStatus{
		Conditions:                          from.Conditions,
		Admission:                           admissionToHub(from.Admission),
		RequeueState:                        from.RequeueState,
		ReclaimablePods:                     from.ReclaimablePods,
		AdmissionChecks:                     each(from.AdmissionChecks, checkToHub),
		ResourceRequests:                    from.ResourceRequests,
		AccumulatedPastExecutionTimeSeconds: from.AccumulatedPastExexcutionTimeSeconds,
		NominatedClusterNames:               from.NominatedClusterNames,
		ClusterName:                         from.ClusterName,
		UnhealthyNodes:                      each(from.UnhealthyNodes, func(n UnhealthyNode) v1beta2.UnhealthyNode { return v1beta2.UnhealthyNode(n) }),
	}
	if from.SchedulingStats != nil {
		to.Status.SchedulingStats = &v1beta2.SchedulingStats{Evictions: from.SchedulingStats.Evictions}
	}
	if beyond := (beyondWorkload{}); takeBeyond(&to.ObjectMeta, &beyond) {
		beyond.writeTo(to)
	}
	return nil
}

// ConvertFrom reads the workload from a *v1beta2.Workload, sharing memory. This
// version has no word for preemption gates and for layers of slices: they stand
// in BeyondAnnotation.
func (w *Workload) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v1beta2.Workload)
	w.ObjectMeta = from.ObjectMeta
	w.Spec = WorkloadSpec{
		PodSets:                     each(from.Spec.PodSets, podSetFromHub),
		QueueName:                   from.Spec.QueueName,
		Priority:                    from.Spec.Priority,
		Active:                      from.Spec.Active,
		MaximumExecutionTimeSeconds: from.Spec.MaximumExecutionTimeSeconds,
	}
	w.Spec.PriorityClassSource, w.Spec.PriorityClassName = priorityClassSource(from.Spec.PriorityClassRef)
	w.Status = WorkloadStatus{
		Conditions:                           from.Status.Conditions,
		Admission:                            admissionFromHub(from.Status.Admission),
		RequeueState:                         from.Status.RequeueState,
		ReclaimablePods:                      from.Status.ReclaimablePods,
		AdmissionChecks:                      each(from.Status.AdmissionChecks, checkFromHub),
		ResourceRequests:                     from.Status.ResourceRequests,
		AccumulatedPastExexcutionTimeSeconds: from.Status.AccumulatedPastExecutionTimeSeconds,
		NominatedClusterNames:                from.Status.NominatedClusterNames,
		ClusterName:                          from.Status.ClusterName,
		UnhealthyNodes:                       each(from.Status.UnhealthyNodes, func(n v1beta2.UnhealthyNode) UnhealthyNode { return UnhealthyNode(n) }),
	}
	if stats := from.Status.SchedulingStats; stats != nil {
		w.Status.SchedulingStats = &SchedulingStats{Evictions: stats.Evictions}
	}
	var beyond beyondWorkload
	beyond.readFrom(from)
	return keepBeyond(&w.ObjectMeta, beyond, beyond.empty())
}

func priorityClassRef(source, name string) *v1beta2.PriorityClassRef {
	switch source {
	case WorkloadPriorityClassSource:
		return &v1beta2.PriorityClassRef{Group: v1beta2.WorkloadPriorityClassGroup, Kind: v1beta2.WorkloadPriorityClassKind, Name: name}
	case PodPriorityClassSource:
		return &v1beta2.PriorityClassRef{Group: v1beta2.PodPriorityClassGroup, Kind: v1beta2.PodPriorityClassKind, Name: name}
	}
	return nil
}

func priorityClassSource(ref *v1beta2.PriorityClassRef) (source, name string) {
	switch {
	case ref == nil:
		return "", ""
	case ref.Kind == v1beta2.WorkloadPriorityClassKind:
		return WorkloadPriorityClassSource, ref.Name
	}
	return PodPriorityClassSource, ref.Name
}

func podSetToHub(p PodSet) v1beta2.PodSet {
	to := v1beta2.PodSet{Name: p.Name, Template: p.Template, Count: p.Count, MinCount: p.MinCount}
	if t := p.TopologyRequest; t != nil {
		to.TopologyRequest = &v1beta2.PodSetTopologyRequest{
			Required: t.Required, Preferred: t.Preferred, Unconstrained: t.Unconstrained,
			PodIndexLabel: t.PodIndexLabel, SubGroupIndexLabel: t.SubGroupIndexLabel, SubGroupCount: t.SubGroupCount,
			PodSetGroupName:             t.PodSetGroupName,
			PodSetSliceRequiredTopology: t.PodSetSliceRequiredTopology,
			PodSetSliceSize:             t.PodSetSliceSize,
		}
	}
	return to
}

func podSetFromHub(p v1beta2.PodSet) PodSet {
	from := PodSet{Name: p.Name, Template: p.Template, Count: p.Count, MinCount: p.MinCount}
	if t := p.TopologyRequest; t != nil {
		from.TopologyRequest = &PodSetTopologyRequest{
			Required: t.Required, Preferred: t.Preferred, Unconstrained: t.Unconstrained,
			PodIndexLabel: t.PodIndexLabel, SubGroupIndexLabel: t.SubGroupIndexLabel, SubGroupCount: t.SubGroupCount,
			PodSetGroupName:             t.PodSetGroupName,
			PodSetSliceRequiredTopology: t.PodSetSliceRequiredTopology,
			PodSetSliceSize:             t.PodSetSliceSize,
		}
	}
	return from
}

func checkToHub(c AdmissionCheckState) v1beta2.AdmissionCheckState {
	return v1beta2.AdmissionCheckState{
		Name: v1beta2.AdmissionCheckReference(c.Name), State: c.State, LastTransitionTime: c.LastTransitionTime,
		Message: c.Message, RequeueAfterSeconds: c.RequeueAfterSeconds, RetryCount: c.RetryCount,
		PodSetUpdates: each(c.PodSetUpdates, func(u PodSetUpdate) v1beta2.PodSetUpdate { return v1beta2.PodSetUpdate(u) }),
	}
}

func checkFromHub(c v1beta2.AdmissionCheckState) AdmissionCheckState {
	return AdmissionCheckState{
		Name: AdmissionCheckReference(c.Name), State: c.State, LastTransitionTime: c.LastTransitionTime,
		Message: c.Message, RequeueAfterSeconds: c.RequeueAfterSeconds, RetryCount: c.RetryCount,
		PodSetUpdates: each(c.PodSetUpdates, func(u v1beta2.PodSetUpdate) PodSetUpdate { return PodSetUpdate(u) }),
	}
}

// each converts the items of a list; nil stays nil.
func each[A, B any](items []A, convert func(A) B) []B {
	if items == nil {
		return nil
	}
	converted := make([]B, len(items))
	for i, item := range items {
		converted[i] = convert(item)
	}
	return converted
}
