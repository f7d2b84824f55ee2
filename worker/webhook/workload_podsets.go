package webhook

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// validatePodSets says what is wrong with the pod sets of a workload.
func (g Gates) validatePodSets(w *kueue.Workload) field.ErrorList {
	var all field.ErrorList
	variable := 0
	path := field.NewPath("spec", "podSets")
	for i := range w.Spec.PodSets {
		podSet, at := &w.Spec.PodSets[i], path.Index(i)
		if podSet.MinCount != nil {
			variable++
		}
		all = append(all, g.validateTemplate(&podSet.Template, at.Child("template"))...)
		all = append(all, g.validateTopology(podSet, at.Child("topologyRequest"))...)
	}
	if variable > 1 {
		all = append(all, field.Invalid(path, variable, "at most one podSet can use minCount"))
	}
	if variable > 0 && g.isElastic(w) {
		all = append(all, field.Invalid(path, variable, "partial admission and elastic job cannot be used together"))
	}
	return all
}

// validatePodSetsUpdate keeps pod sets as they were while quota is reserved, but for the
// counts of an elastic job, which may fall.
func (g Gates) validatePodSetsUpdate(old, w *kueue.Workload) field.ErrorList {
	if apiequality.Semantic.DeepEqual(old.Spec.PodSets, w.Spec.PodSets) {
		return nil
	}
	all := g.validatePodSets(w)
	if !isReserved(old) || g.isElastic(w) && hasShrunk(old.Spec.PodSets, w.Spec.PodSets) {
		return all
	}
	path := field.NewPath("spec", "podSets")
	if len(old.Spec.PodSets) != len(w.Spec.PodSets) {
		return append(all, field.Invalid(path, w.Spec.PodSets, immutable))
	}
	for i := range w.Spec.PodSets {
		if !apiequality.Semantic.DeepEqual(old.Spec.PodSets[i], w.Spec.PodSets[i]) {
			all = append(all, field.Invalid(path.Child(strconv.Itoa(i)), w.Spec.PodSets[i], immutable)) // not Index: so it is spelt
		}
	}
	return all
}

const immutable = validation.FieldImmutableErrorMsg

// hasShrunk tells whether the pod sets differ by nothing but counts that fell.
func hasShrunk(old, podSets []kueue.PodSet) bool {
	return slices.EqualFunc(old, podSets, func(before, after kueue.PodSet) bool {
		if after.Count > before.Count {
			return false
		}
		after.Count = before.Count
		return apiequality.Semantic.DeepEqual(before, after)
	})
}

func isReserved(w *kueue.Workload) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, kueue.WorkloadQuotaReserved)
}

// validateTemplate validates the labels and annotations of a pod template, and the resources of its containers.
func (g Gates) validateTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if g.PodSetMetadata {
		metadata := path.Child("metadata")
		all = append(all, metav1validation.ValidateLabels(template.Labels, metadata.Child("labels"))...)
		all = append(all, validation.ValidateAnnotations(template.Annotations, metadata.Child("annotations"))...)
	}
	spec := path.Child("spec")
	for i := range template.Spec.InitContainers {
		all = append(all, g.validateResources(&template.Spec.InitContainers[i].Resources, spec.Child("initContainers").Index(i).Child("resources"))...)
	}
	for i := range template.Spec.Containers {
		all = append(all, g.validateResources(&template.Spec.Containers[i].Resources, spec.Child("containers").Index(i).Child("resources"))...)
	}
	if template.Spec.Resources != nil {
		all = append(all, g.validateResources(template.Spec.Resources, spec.Child("resources"))...)
	}
	return all
}

// validateResources refuses "pods", in requests and in limits, which would become requests:
// they are counted without being asked for. And it refuses quantities below zero.
func (g Gates) validateResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var all field.ErrorList
	all = append(all, validateContainerOnly(resources.Requests, path.Child("requests"))...)
	all = append(all, validateContainerOnly(resources.Limits, path.Child("limits"))...)
	if g.NonNegativeResources {
		all = append(all, validateAllNotNegative(resources.Requests, path.Child("requests"))...)
		all = append(all, validateAllNotNegative(resources.Limits, path.Child("limits"))...)
	}
	return all
}

func validateContainerOnly(list corev1.ResourceList, path *field.Path) field.ErrorList {
	if _, named := list[corev1.ResourcePods]; !named {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Key(string(corev1.ResourcePods)), corev1.ResourcePods, "the key is reserved for internal kueue use")}
}

func validateAllNotNegative(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, name := range sortedNames(list) {
		quantity := list[name]
		all = append(all, validateNotNegative(&quantity, path.Key(string(name)))...)
	}
	return all
}

// validateTopology says what is wrong with slices.
func (g Gates) validateTopology(podSet *kueue.PodSet, path *field.Path) field.ErrorList {
	request := podSet.TopologyRequest
	if request == nil {
		return nil
	}
	var all field.ErrorList
	size, level := path.Child("podSetSliceSize"), request.PodSetSliceRequiredTopology
	switch {
	case request.PodSetSliceSize != nil && level == nil:
		all = append(all, field.Forbidden(size, "may not be set when podSetSliceRequiredTopology is not specified"))
	case request.PodSetSliceSize == nil && level != nil:
		all = append(all, field.Required(size, "must be set when podSetSliceRequiredTopology is specified"))
	}
	if request.PodSetSliceSize != nil {
		all = append(all, g.validateSliceSize(*request.PodSetSliceSize, podSet.Count, size)...)
	}
	return append(all, g.validateLayers(podSet, path.Child("podsetSliceRequiredTopologyConstraints"))...)
}

func (g Gates) validateSliceSize(size, count int32, path *field.Path) field.ErrorList {
	switch {
	case g.SliceSize && size < 1:
		return field.ErrorList{field.Invalid(path, size, "must be greater than 0")}
	case g.SliceSize && size > count:
		return field.ErrorList{field.Invalid(path, size, fmt.Sprintf("must not be greater than pod set count %d", count))}
	}
	return nil
}

// validateLayers go from outer to inner: levels differ, and a slice holds a whole number
// of slices of the next layer.
func (g Gates) validateLayers(podSet *kueue.PodSet, path *field.Path) field.ErrorList {
	var all field.ErrorList
	request := podSet.TopologyRequest
	layers := request.PodsetSliceRequiredTopologyConstraints
	if len(layers) > 0 && request.PodSetSliceSize != nil {
		all = append(all, field.Forbidden(path, "may not be set when podSetSliceSize is specified"))
	}
	if len(layers) > 0 && request.PodSetGroupName != nil {
		all = append(all, field.Forbidden(path, "may not be set when podSetGroupName is specified"))
	}
	for i, layer := range layers {
		all = append(all, g.validateSliceSize(layer.Size, podSet.Count, path.Index(i).Child("size"))...)
		for j, outer := range layers[:i] {
			if outer.Topology == layer.Topology {
				all = append(all, field.Duplicate(path.Index(i).Child("topology"), fmt.Sprintf("%s (also at index %d)", layer.Topology, j)))
			}
		}
		if i > 0 && layer.Size > 0 && layers[i-1].Size%layer.Size != 0 {
			all = append(all, field.Invalid(path.Index(i).Child("size"), layer.Size, fmt.Sprintf("must evenly divide the parent layer size %d", layers[i-1].Size)))
		}
	}
	return all
}
