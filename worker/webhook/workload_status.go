package webhook

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// validateStatusUpdate says what is wrong with a change of status. Several managers apply
// parts of it, so a rule looks only at parts that changed.
func (g Gates) validateStatusUpdate(old, w *kueue.Workload) field.ErrorList {
	path := field.NewPath("status")
	var all field.ErrorList
	if !apiequality.Semantic.DeepEqual(old.Status.Conditions, w.Status.Conditions) {
		all = append(all, metav1validation.ValidateConditions(w.Status.Conditions, path.Child("conditions"))...)
	}
	all = append(all, g.validateAdmissionUpdate(old, w, path.Child("admission"))...)
	all = append(all, g.validateReclaimableUpdate(old, w, path.Child("reclaimablePods"))...)
	all = append(all, validateChecksUpdate(old, w, path.Child("admissionChecks"))...)
	return append(all, g.validateClusterUpdate(old, w, path.Child("clusterName"))...)
}

// validateAdmissionUpdate validates a change of status.admission, which is immutable as long as quota is reserved.
func (g Gates) validateAdmissionUpdate(old, w *kueue.Workload, path *field.Path) field.ErrorList {
	before, after := old.Status.Admission, w.Status.Admission
	if after == nil {
		if isReserved(w) && !isReserved(old) {
			return field.ErrorList{field.Required(path, "must be set while the QuotaReserved condition is true")}
		}
		return nil
	}
	if apiequality.Semantic.DeepEqual(before, after) {
		return nil
	}
	all := validateAssignments(w, path.Child("podSetAssignments"))
	if before != nil && !g.isSameAdmission(before, after, g.isElastic(w)) {
		all = append(all, field.Invalid(path, after, immutable))
	}
	return all
}

// isSameAdmission compares all that must not change once there is an admission:
// topology may be computed late and anew, and an elastic job may shrink.
func (Gates) isSameAdmission(before, after *kueue.Admission, elastic bool) bool {
	if before.ClusterQueue != after.ClusterQueue {
		return false
	}
	return slices.EqualFunc(before.PodSetAssignments, after.PodSetAssignments, func(a, b kueue.PodSetAssignment) bool {
		a.TopologyAssignment, b.TopologyAssignment = nil, nil
		a.DelayedTopologyRequest, b.DelayedTopologyRequest = "", ""
		if elastic && a.Count != nil && b.Count != nil && *b.Count < *a.Count {
			a.Count, b.Count = nil, nil
			a.ResourceUsage, b.ResourceUsage = nil, nil
		}
		return apiequality.Semantic.DeepEqual(a, b)
	})
}

// validateAssignments must be for pod sets of the workload. Where they state a count, their usage is a multiple of what one
// pod uses; without one it is not known for how many it is.
func validateAssignments(w *kueue.Workload, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for i, assignment := range w.Status.Admission.PodSetAssignments {
		at := path.Index(i)
		podSet := findPodSet(w, assignment.Name)
		if podSet == nil {
			all = append(all, field.NotFound(at.Child("name"), assignment.Name))
			continue
		}
		count := ptr.Deref(assignment.Count, 0)
		for _, name := range sortedNames(assignment.ResourceUsage) {
			if usage := assignment.ResourceUsage[name]; !validateDivisible(&usage, count) {
				all = append(all, field.Invalid(at.Child("resourceUsage").Key(string(name)), usage.String(), fmt.Sprintf("is not a multiple of %d", count)))
			}
		}
	}
	return all
}

func findPodSet(w *kueue.Workload, name kueue.PodSetReference) *kueue.PodSet {
	for i := range w.Spec.PodSets {
		if w.Spec.PodSets[i].Name == name {
			return &w.Spec.PodSets[i]
		}
	}
	return nil
}

// validateDivisible tells whether a quantity is count times some number of thousandths.
// A count of zero is no pods, or none stated: nothing could be judged. A quantity whose thousandths an int64
// cannot hold is judged by its units.
func validateDivisible(quantity *resource.Quantity, count int32) bool {
	if count <= 0 {
		return true
	}
	if quantity.CmpInt64(1<<53) > 0 {
		return quantity.Value()%int64(count) == 0
	}
	return quantity.MilliValue()%int64(count) == 0
}

// validateClusterUpdate lets the first cluster be only one that was nominated before. A
// slice that replaces another goes where that one runs, without nomination.
func (g Gates) validateClusterUpdate(old, w *kueue.Workload, path *field.Path) field.ErrorList {
	if old.Status.ClusterName != nil || w.Status.ClusterName == nil {
		return nil
	}
	if g.isElastic(w) && w.Annotations[kueue.WorkloadSliceReplacementForAnnotation] != "" {
		return nil
	}
	if slices.Contains(old.Status.NominatedClusterNames, *w.Status.ClusterName) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *w.Status.ClusterName, "when setting clusterName it must be one of the nominatedClusterNames")}
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}
