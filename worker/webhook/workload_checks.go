package webhook

import (
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// validateReclaimableUpdate lets the pods that need no quota any more only grow in
// number while quota is reserved (contract: messages.md 4.5).
func (g Gates) validateReclaimableUpdate(old, w *kueue.Workload, path *field.Path) field.ErrorList {
	if apiequality.Semantic.DeepEqual(old.Status.ReclaimablePods, w.Status.ReclaimablePods) {
		return nil
	}
	var all field.ErrorList
	now := map[kueue.PodSetReference]int32{}
	for _, pods := range w.Status.ReclaimablePods {
		now[pods.Name] = pods.Count
		at := path.Key(string(pods.Name))
		switch podSet := findPodSet(w, pods.Name); {
		case podSet == nil:
			all = append(all, field.NotSupported(at.Child("name"), pods.Name, podSetNames(w)))
		case pods.Count > podSet.Count:
			all = append(all, field.Invalid(at.Child("count"), pods.Count, fmt.Sprintf("should be less or equal to %d", podSet.Count)))
		}
	}
	if !isReserved(old) || !isReserved(w) || g.isElastic(w) {
		return all
	}
	for _, pods := range old.Status.ReclaimablePods {
		at := path.Key(string(pods.Name))
		switch count, there := now[pods.Name]; {
		case !there:
			all = append(all, field.Required(at, "cannot be removed"))
		case count < pods.Count:
			all = append(all, field.Invalid(at.Child("count"), count, fmt.Sprintf("cannot be less than %d", pods.Count)))
		}
	}
	return all
}

// podSetNames are in the order of the spec.
func podSetNames(w *kueue.Workload) []kueue.PodSetReference {
	names := make([]kueue.PodSetReference, len(w.Spec.PodSets))
	for i := range w.Spec.PodSets {
		names[i] = w.Spec.PodSets[i].Name
	}
	return names
}

// validateChecksUpdate says what is wrong with what checks add to pods. It stays as it
// was while the check stays Ready, because the pods may have been made already.
func validateChecksUpdate(old, w *kueue.Workload, path *field.Path) field.ErrorList {
	if apiequality.Semantic.DeepEqual(old.Status.AdmissionChecks, w.Status.AdmissionChecks) {
		return nil
	}
	var all field.ErrorList
	for i := range w.Status.AdmissionChecks {
		for j := range w.Status.AdmissionChecks[i].PodSetUpdates {
			update := &w.Status.AdmissionChecks[i].PodSetUpdates[j]
			all = append(all, validatePodSetUpdate(w, update, path.Index(i).Child("podSetUpdates").Index(j))...)
		}
	}
	for i := range old.Status.AdmissionChecks {
		before := &old.Status.AdmissionChecks[i]
		after := findCheck(w, before.Name)
		if after != nil && before.State == kueue.CheckStateReady && after.State == kueue.CheckStateReady &&
			!apiequality.Semantic.DeepEqual(before.PodSetUpdates, after.PodSetUpdates) {
			all = append(all, field.Invalid(path.Index(i).Child("podSetUpdates"), after.PodSetUpdates, immutable))
		}
	}
	return all
}

// validatePodSetUpdate must be for a pod set of the workload, and be something that a pod may have.
func validatePodSetUpdate(w *kueue.Workload, update *kueue.PodSetUpdate, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if findPodSet(w, update.Name) == nil {
		names := podSetNames(w)
		slices.Sort(names)
		all = append(all, field.NotSupported(path.Child("name"), update.Name, names))
	}
	for k := range update.Tolerations {
		if key := update.Tolerations[k].Key; key != "" {
			all = append(all, metav1validation.ValidateLabelName(key, path.Child("tolerations").Index(k).Child("key"))...)
		}
	}
	all = append(all, validation.ValidateAnnotations(update.Annotations, path.Child("annotations"))...)
	all = append(all, metav1validation.ValidateLabels(update.NodeSelector, path.Child("nodeSelector"))...)
	return append(all, metav1validation.ValidateLabels(update.Labels, path.Child("labels"))...)
}

func findCheck(w *kueue.Workload, name kueue.AdmissionCheckReference) *kueue.AdmissionCheckState {
	for i := range w.Status.AdmissionChecks {
		if w.Status.AdmissionChecks[i].Name == name {
			return &w.Status.AdmissionChecks[i]
		}
	}
	return nil
}
