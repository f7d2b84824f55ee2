package appwrapper

import (
	"encoding/json"
	"fmt"
	"strconv"

	awv1 "github.com/project-codeflare/appwrapper/api/v1beta2"
	"github.com/project-codeflare/appwrapper/pkg/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// maxGroups is how many pod sets a Workload can have (contract: kueue-api.md 1.7). An AppWrapper of more can never start.
const maxGroups = 18

// group is one group of equal pods in a component.
type group struct {
	// path of the pod template from the component's object on, such as "template.spec.template".
	path  string
	count int64
}

// template is a group whose pod template exists.
type template struct {
	job.Template
	// component and slot tell which of the AppWrapper's podSetInfos are the group's.
	component, slot int
}

// podSets returns a pod set for every group of pods in every component, with what has been placed in it.
func podSets(aw *awv1.AppWrapper) ([]kueue.PodSet, error) {
	found, _, err := templates(aw)
	if err != nil {
		return nil, err
	}
	list := make([]job.Template, len(found))
	for i := range found {
		list[i] = found[i].Template
	}
	return job.TemplatePodSets(list)
}

// templatePath is where the template of the i-th pod set is; that of the components if there is none.
func templatePath(aw *awv1.AppWrapper, i int) *field.Path {
	found, _, err := templates(aw)
	if err != nil || i >= len(found) {
		return field.NewPath("spec", "components")
	}
	return found[i].Metadata
}

// templates returns the pod templates of all groups, and how many groups there are: those whose path leads nowhere have no template (contract:
// job-kinds.md 8, pod sets). An error says what the user must change.
func templates(aw *awv1.AppWrapper) (found []template, groups int, err error) {
	for i := range aw.Spec.Components {
		path := componentPath(i)
		obj, err := decode(aw.Spec.Components[i].Template.Raw)
		if err != nil {
			return nil, 0, field.Invalid(path, field.OmitValueType{}, err.Error())
		}
		sets, err := componentGroups(aw, i, obj)
		if err != nil {
			return nil, 0, field.Invalid(path, field.OmitValueType{}, err.Error())
		}
		groups += len(sets)
		if groups > maxGroups {
			return nil, 0, field.TooMany(field.NewPath("spec", "components"), groups, maxGroups)
		}
		for slot, set := range sets {
			pod, err := podTemplate(obj, set.path)
			if err != nil {
				continue
			}
			if err := job.PlaceTemplate(pod, placementOf(podSetInfo(&aw.Spec.Components[i], slot))); err != nil {
				return nil, 0, field.Invalid(path, field.OmitValueType{}, err.Error())
			}
			found = append(found, template{component: i, slot: slot, Template: job.Template{
				Name: aw.Name + "-" + strconv.Itoa(len(found)), Count: set.count, Pod: pod, Path: path, Metadata: path,
			}})
		}
	}
	return found, groups, nil
}

func componentPath(i int) *field.Path {
	return field.NewPath("spec", "components").Index(i).Child("template")
}

// decode reads the object of a component.
func decode(raw []byte) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	return obj, nil
}

// componentGroups returns the groups that the AppWrapper's controller has recorded, else those declared, else what is known of the kind. A
// record or a declaration cannot make a known kind smaller than it is.
func componentGroups(aw *awv1.AppWrapper, i int, obj *unstructured.Unstructured) ([]group, error) {
	known, err := knownGroups(obj)
	if err != nil {
		return nil, err
	}
	declared := aw.Spec.Components[i].DeclaredPodSets
	if len(aw.Status.ComponentStatus) == len(aw.Spec.Components) {
		declared = aw.Status.ComponentStatus[i].PodSets
	}
	if len(declared) == 0 {
		return known, nil
	}
	groups := make([]group, len(declared))
	for k, set := range declared {
		groups[k] = group{path: set.Path, count: int64(ptr.Deref(set.Replicas, 1))}
		if is := findGroup(known, set.Path); is != nil && groups[k].count >= 0 {
			groups[k].count = max(groups[k].count, is.count)
		}
	}
	return groups, nil
}

func findGroup(groups []group, path string) *group {
	for i := range groups {
		if groups[i].path == path {
			return &groups[i]
		}
	}
	return nil
}

// podTemplate is the part of a template that decides about quota, as the AppWrapper's controller reads it.
func podTemplate(obj *unstructured.Unstructured, path string) (*corev1.PodTemplateSpec, error) {
	pod, err := utils.GetPodTemplateSpec(obj, path)
	if err != nil {
		return nil, err
	}
	if full, err := podSpec(obj, path); err == nil && full.TerminationGracePeriodSeconds != nil {
		pod.Spec.TerminationGracePeriodSeconds = full.TerminationGracePeriodSeconds
	}
	return pod, nil
}

// podSpec is all of the spec of a pod template.
func podSpec(obj *unstructured.Unstructured, path string) (*corev1.PodSpec, error) {
	found, err := utils.GetRawTemplate(obj.Object, path)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(found["spec"])
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", path, err)
	}
	spec := &corev1.PodSpec{}
	if err := json.Unmarshal(raw, spec); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	return spec, nil
}

// podSetInfo is what has been placed in a group; nothing if nothing has.
func podSetInfo(c *awv1.AppWrapperComponent, slot int) awv1.AppWrapperPodSetInfo {
	if slot >= len(c.PodSetInfos) {
		return awv1.AppWrapperPodSetInfo{}
	}
	return c.PodSetInfos[slot]
}

func placementOf(info awv1.AppWrapperPodSetInfo) job.Placement {
	return job.Placement{
		NodeSelector: info.NodeSelector, Tolerations: info.Tolerations, Labels: info.Labels, Annotations: info.Annotations,
		SchedulingGates: info.SchedulingGates,
	}
}

// place puts placements beside the components; their objects stay as they are. It fails with a [job.ConflictError], or if the admission is one
// of other pod sets.
func place(aw *awv1.AppWrapper, placements []job.Placement) error {
	found, groups, err := templates(aw)
	if err != nil {
		return err
	}
	if err := job.MatchPlacements(groups, placements); err != nil {
		return err
	}
	if err := job.MatchPlacements(len(found), placements); err != nil {
		return err
	}
	infos := make([]awv1.AppWrapperPodSetInfo, len(found))
	for i := range found {
		if err := job.PlaceTemplate(found[i].Pod, placements[i]); err != nil {
			return err
		}
		if infos[i], err = merge(podSetInfo(&aw.Spec.Components[found[i].component], found[i].slot), placements[i]); err != nil {
			return err
		}
	}
	restore(aw, nil)
	for i := range found { // no group is without a template here, so that slots come in order
		c := &aw.Spec.Components[found[i].component]
		c.PodSetInfos = append(c.PodSetInfos, infos[i])
	}
	return nil
}

// merge returns what is placed with more placed besides. Nothing is shared with either.
func merge(placed awv1.AppWrapperPodSetInfo, more job.Placement) (awv1.AppWrapperPodSetInfo, error) {
	merged := placementOf(*placed.DeepCopy())
	if err := merged.Merge(more); err != nil {
		return awv1.AppWrapperPodSetInfo{}, err
	}
	return awv1.AppWrapperPodSetInfo{
		NodeSelector: merged.NodeSelector, Tolerations: merged.Tolerations, Labels: merged.Labels, Annotations: merged.Annotations,
		SchedulingGates: merged.SchedulingGates,
	}, nil
}

// restore takes all placements out, whatever they were.
func restore(aw *awv1.AppWrapper, _ []kueue.PodSet) {
	for i := range aw.Spec.Components {
		aw.Spec.Components[i].PodSetInfos = nil
	}
}
