package webhook

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence/epoch"
)

// maxGateName bounds the names in the annotation admission-gated-by.
const maxGateName = 63

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

// Workload says what is wrong with a new Workload (contract: kueue-api.md 1.15).
func (g Gates) Workload(w *kueue.Workload) field.ErrorList {
	all := g.podSets(w)
	all = append(all, g.annotations(w)...)
	return append(all, gateNames(g.admissionGates(w))...)
}

// WorkloadUpdate says what is wrong with an update of a Workload or its status.
// What did not change is not judged again, so that a rule which came later does
// not stop an old workload on its way.
func (g Gates) WorkloadUpdate(old, w *kueue.Workload) field.ErrorList {
	all := g.podSetsUpdate(old, w)
	if old.Annotations[kueue.PriorityBoostAnnotation] != w.Annotations[kueue.PriorityBoostAnnotation] {
		all = append(all, g.annotations(w)...)
	}
	all = append(all, addedGates(g.admissionGates(old), g.admissionGates(w))...)
	if err := epoch.Update(old, w); err != nil {
		all = append(all, err)
	}
	return append(all, g.statusUpdate(old, w)...)
}

// elastic tells whether the workload may shrink while it holds quota.
func (g Gates) elastic(w *kueue.Workload) bool {
	return g.Elastic && w.Annotations[kueue.ElasticJobAnnotation] == "true"
}

// annotations refuses a boost of priority that is no number.
func (g Gates) annotations(w *kueue.Workload) field.ErrorList {
	boost, boosted := w.Annotations[kueue.PriorityBoostAnnotation]
	if !g.PriorityBoost || !boosted {
		return nil
	}
	if _, err := strconv.ParseInt(boost, 10, 32); err != nil {
		path := field.NewPath("metadata", "annotations").Key(kueue.PriorityBoostAnnotation)
		return field.ErrorList{field.Invalid(path, boost, fmt.Sprintf("must be an integer from %d to %d", math.MinInt32, math.MaxInt32))}
	}
	return nil
}

// admissionGates are the names in the annotation admission-gated-by.
func (g Gates) admissionGates(w *kueue.Workload) []string {
	if !g.AdmissionGatedBy || w.Annotations[kueue.AdmissionGatedByAnnotation] == "" {
		return nil
	}
	names := strings.Split(w.Annotations[kueue.AdmissionGatedByAnnotation], ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

func gateNames(names []string) field.ErrorList {
	var all field.ErrorList
	path := field.NewPath("metadata", "annotations").Key(kueue.AdmissionGatedByAnnotation)
	for _, name := range names {
		switch {
		case name == "":
			all = append(all, field.Invalid(path, name, "the name of a gate must not be empty"))
		case len(name) > maxGateName:
			all = append(all, field.TooLong(path, name, maxGateName))
		}
	}
	return all
}

// addedGates refuses gates that were not there before: they can only be removed.
func addedGates(old, names []string) field.ErrorList {
	var all field.ErrorList
	path := field.NewPath("metadata", "annotations").Key(kueue.AdmissionGatedByAnnotation)
	for _, name := range names {
		if !slices.Contains(old, name) {
			all = append(all, field.Forbidden(path, fmt.Sprintf("gate %q cannot be added after creation", name)))
		}
	}
	return all
}
