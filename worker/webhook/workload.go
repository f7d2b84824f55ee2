package webhook

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence/epoch"
	"switchyard.dev/worker/workload"
)

// DefaultWorkload completes a new Workload: without partial admission there is no
// least number of pods.
func (g Gates) DefaultWorkload(w *kueue.Workload) {
	if g.PartialAdmission {
		return
	}
	for i := range w.Spec.PodSets {
		w.Spec.PodSets[i].MinCount = nil
	}
}

// ValidateWorkload says what is wrong with a new Workload (contract: messages.md 4.4).
func (g Gates) ValidateWorkload(w *kueue.Workload) field.ErrorList {
	all := g.validatePodSets(w)
	if g.AdmissionGatedBy {
		all = append(all, workload.ValidateAdmissionGates(w.Annotations[kueue.AdmissionGatedByAnnotation])...)
	}
	return append(all, g.validatePriorityBoost(w)...)
}

// ValidateWorkloadUpdate says what is wrong with an update of a Workload or its status.
// What did not change is not judged again, so that a rule which came later does
// not stop an old workload on its way.
func (g Gates) ValidateWorkloadUpdate(old, w *kueue.Workload) field.ErrorList {
	all := g.validatePodSetsUpdate(old, w)
	if g.AdmissionGatedBy {
		const key = kueue.AdmissionGatedByAnnotation
		all = append(all, workload.ValidateAdmissionGatesUpdate(old.Annotations[key], w.Annotations[key])...)
	}
	if old.Annotations[kueue.PriorityBoostAnnotation] != w.Annotations[kueue.PriorityBoostAnnotation] {
		all = append(all, g.validatePriorityBoost(w)...)
	}
	all = append(all, g.validateSliceUpdate(old, w)...)
	if err := epoch.ValidateUpdate(old, w); err != nil {
		all = append(all, err)
	}
	return append(all, g.validateStatusUpdate(old, w)...)
}

// isElastic tells whether the workload may shrink while it holds quota.
func (g Gates) isElastic(w *kueue.Workload) bool {
	return g.Elastic && w.Annotations[kueue.ElasticJobAnnotation] == "true"
}

// validateSliceUpdate keeps what a Workload says of its slice while quota is reserved: what it claims to replace costs nothing any more.
func (g Gates) validateSliceUpdate(old, w *kueue.Workload) field.ErrorList {
	if !g.Elastic || !isReserved(old) {
		return nil
	}
	var all field.ErrorList
	for _, key := range []string{kueue.ElasticJobAnnotation, kueue.WorkloadSliceNameAnnotation, kueue.WorkloadSliceReplacementForAnnotation} {
		if was := old.Annotations[key]; was != "" && was != w.Annotations[key] || was == "" && key == kueue.WorkloadSliceReplacementForAnnotation && w.Annotations[key] != "" {
			all = append(all, field.Invalid(field.NewPath("metadata", "annotations").Key(key), w.Annotations[key], immutable))
		}
	}
	return all
}

// validatePriorityBoost refuses a boost of priority that is no number.
func (g Gates) validatePriorityBoost(w *kueue.Workload) field.ErrorList {
	value, boosted := w.Annotations[kueue.PriorityBoostAnnotation]
	if !g.PriorityBoost || !boosted {
		return nil
	}
	detail := "must be a valid signed integer"
	if value == "" {
		detail += `; use "0" explicitly, empty string is not allowed`
	} else if _, err := strconv.ParseInt(value, 10, 32); err == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(kueue.PriorityBoostAnnotation), value, detail)}
}
