package job

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Template is one group of equal pods of a job, with its pod template where it stands in the job.
type Template struct {
	// Name of the group as the job has it. The pod set has it in lower case.
	Name string
	// Count of pods; it may be more than a pod set can hold, or negative, which is an error of the job's.
	Count int64
	// Pod is the template in the job itself, never nil.
	Pod *corev1.PodTemplateSpec
	// Path is the group's path in the job, for what is wrong with it.
	Path *field.Path
	// Metadata is the path of the template's metadata.
	Metadata *field.Path
}

// FromTemplates completes the declaration of a kind whose pod sets are pod templates in the job: PodSets, Place, Restore, and where to
// look for what is wrong with a template. What the declaration has already stays.
func FromTemplates[T client.Object](k Kind[T], templates func(T) []Template) Kind[T] {
	if k.PodSets == nil && k.Inputs == nil {
		k.PodSets = func(job T) ([]kueue.PodSet, error) { return TemplatePodSets(templates(job)) }
	}
	if k.Place == nil {
		k.Place = func(job T, placements []Placement) error { return PlaceTemplates(templates(job), placements) }
	}
	if k.Restore == nil {
		k.Restore = func(job T, sets []kueue.PodSet) { RestoreTemplates(templates(job), sets) }
	}
	if k.Webhook.TemplatePath == nil {
		k.Webhook.TemplatePath = func(job T, i int) *field.Path { return templates(job)[i].Metadata }
	}
	return k
}

// TemplatePodSets returns a pod set for each template. An error names the template that no pod set can say.
func TemplatePodSets(templates []Template) ([]kueue.PodSet, error) {
	sets := make([]kueue.PodSet, len(templates))
	for i, t := range templates {
		if t.Count < 0 || t.Count > math.MaxInt32 {
			return nil, field.Invalid(t.Path, t.Count, fmt.Sprintf("must be 0 to %d pods", math.MaxInt32))
		}
		sets[i] = kueue.PodSet{Name: PodSetName(t.Name), Template: *t.Pod.DeepCopy(), Count: int32(t.Count)}
	}
	return sets, nil
}

// PodSetName is the name of the pod set of a group of pods.
func PodSetName(group string) kueue.PodSetReference {
	return kueue.PodSetReference(strings.ToLower(group))
}

// PlaceTemplates puts placements into templates, in order. It fails with a [ConflictError], or if the admission is one of other pod sets.
func PlaceTemplates(templates []Template, placements []Placement) error {
	if err := MatchPlacements(len(templates), placements); err != nil {
		return err
	}
	for i := range templates {
		if err := PlaceTemplate(templates[i].Pod, placements[i]); err != nil {
			return err
		}
	}
	return nil
}

// PodSetsError says that an admission has another number of pod sets than the job. No retry solves it.
type PodSetsError struct {
	// Want is how many the job has, Got how many were admitted.
	Want, Got int
}

// Error implements error in the words of the public API (contract: job-kinds.md 1.5).
func (e *PodSetsError) Error() string {
	return fmt.Sprintf("invalid podset infos: expecting %d podset, got %d", e.Want, e.Got)
}

// MatchPlacements fails with a [PodSetsError] if there is not one placement for each pod set.
func MatchPlacements(podSets int, placements []Placement) error {
	if len(placements) != podSets {
		return &PodSetsError{Want: podSets, Got: len(placements)}
	}
	return nil
}

// RestoreTemplates makes templates what they are in the pod sets of the same names.
func RestoreTemplates(templates []Template, sets []kueue.PodSet) {
	for _, t := range templates {
		name := PodSetName(t.Name)
		if i := slices.IndexFunc(sets, func(ps kueue.PodSet) bool { return ps.Name == name }); i >= 0 {
			RestoreTemplate(t.Pod, &sets[i].Template)
		}
	}
}

// StatusCopier returns the CopyStatus of a kind whose remote status replaces the local one as it is (contract: job-kinds.md 1.12), until
// ended tells that the job has ended: that is never taken back. Status returns the address of a job's status.
func StatusCopier[T client.Object, S any](status func(T) *S, ended func(T) bool) func(local, remote T) (changed, deferred bool) {
	return func(local, remote T) (changed, deferred bool) {
		if ended(local) || equality.Semantic.DeepEqual(status(local), status(remote)) {
			return false, false
		}
		*status(local) = *status(deepCopy(remote))
		return true, false
	}
}

// errNoPodSets says that there is nothing to run.
var errNoPodSets = errors.New("the job has no pods to run")

// maxPodSets is how many pod sets a Workload can have (contract: kueue-api.md 1.7).
const maxPodSets = 18

// checkPodSets tells what keeps pod sets from being those of a Workload: their number, or a name that is no label or is there twice. path, optional,
// says where a pod set comes from.
func checkPodSets(sets []kueue.PodSet, path func(i int) *field.Path) error {
	switch {
	case len(sets) == 0:
		return errNoPodSets
	case len(sets) > maxPodSets:
		return fmt.Errorf("the job has %d groups of pods, and a Workload at most %d", len(sets), maxPodSets)
	}
	seen := map[kueue.PodSetReference]bool{}
	for i := range sets {
		where := field.NewPath("podSets").Index(i)
		if path != nil {
			where = path(i)
		}
		name := sets[i].Name
		if problems := validation.IsDNS1123Label(string(name)); len(problems) > 0 {
			return field.Invalid(where, string(name), "the name of a group of pods: "+strings.Join(problems, "; "))
		}
		if seen[name] {
			return field.Duplicate(where, string(name))
		}
		if sets[i].Count < 0 {
			return field.Invalid(where, sets[i].Count, "must not be negative")
		}
		seen[name] = true
	}
	return nil
}
