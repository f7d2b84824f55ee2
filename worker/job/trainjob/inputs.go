package trainjob

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// runtimeKinds are those that a TrainJob can name.
const (
	trainingRuntime        = "TrainingRuntime"
	clusterTrainingRuntime = "ClusterTrainingRuntime"
)

// inputs are the runtime, and of a suspended TrainJob the JobSet that the trainer has made for it, if any. The trainer keeps the runtime as it was when it
// first saw the TrainJob.
func inputs() *job.Inputs[trainJob] {
	return &job.Inputs[trainJob]{
		Kinds: func() []client.Object {
			return []client.Object{newObject(trainingRuntime), newObject(clusterTrainingRuntime)}
		},
		Of:          inputsOf,
		PodSets:     podSets,
		OnlyAtStart: true,
		Progress:    completeProgress,
		Covers:      covers,
	}
}

func inputsOf(tj trainJob) ([]client.Object, error) {
	s, err := readSpec[spec](tj)
	if err != nil {
		return nil, err
	}
	ref := schema.GroupKind{Group: ptr.Deref(s.RuntimeRef.APIGroup, group), Kind: ptr.Deref(s.RuntimeRef.Kind, clusterTrainingRuntime)}
	if ref.Group != group || ref.Kind != trainingRuntime && ref.Kind != clusterTrainingRuntime {
		return nil, fmt.Errorf("unsupported runtime: %s", ref)
	}
	named := newObject(ref.Kind)
	named.SetName(s.RuntimeRef.Name)
	if ref.Kind == trainingRuntime {
		named.SetNamespace(tj.GetNamespace())
	}
	list := []client.Object{named}
	if manager := manager(tj); suspended(tj) && (manager == "" || manager == ownController) {
		list = append(list, &jobsetv1.JobSet{ObjectMeta: metav1.ObjectMeta{Name: tj.GetName(), Namespace: tj.GetNamespace()}})
	}
	return list, nil
}

// errOutgrown says that the trainer would run something else than the runtime says.
var errOutgrown = errors.New("the JobSet that was made for the TrainJob asks for more than its runtime does now; create the TrainJob anew")

// podSets returns a pod set for every replicated job of the JobSet that the trainer would make.
func podSets(tj trainJob, inputs []client.Object) ([]kueue.PodSet, error) {
	js, err := renderFor(tj, inputs)
	if err != nil {
		return nil, err
	}
	if len(inputs) > 1 {
		if made, ok := inputs[1].(*jobsetv1.JobSet); ok && metav1.IsControlledBy(made, tj) && !asksAtMost(made, js) {
			return nil, errOutgrown
		}
	}
	templates := make([]job.Template, len(js.ReplicatedJobs))
	for i := range js.ReplicatedJobs {
		r := &js.ReplicatedJobs[i]
		path := field.NewPath("job").Key(r.Name)
		if r.Name != strings.ToLower(r.Name) { // what is placed is found by the name of the pod set
			return nil, field.Invalid(path, r.Name, "must be in lower case")
		}
		templates[i] = job.Template{Name: r.Name, Count: podCount(r), Pod: &r.Template.Spec.Template, Path: path, Metadata: path}
	}
	return job.TemplatePodSets(templates)
}

// renderFor renders the JobSet of a TrainJob.
func renderFor(tj trainJob, inputs []client.Object) (*jobsetv1.JobSetSpec, error) {
	s, err := readSpec[spec](tj)
	if err != nil {
		return nil, err
	}
	if len(inputs) == 0 || inputs[0] == nil {
		return nil, fmt.Errorf("runtime '%s' not found", s.RuntimeRef.Name)
	}
	named, ok := inputs[0].(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("runtime '%s' is a %T", s.RuntimeRef.Name, inputs[0])
	}
	r, err := readSpec[runtimeSpec](named)
	if err != nil {
		return nil, err
	}
	return render(tj.GetName(), s, r)
}

// podCount is how many pods all replicas of a rendered job run at a time.
func podCount(r *jobsetv1.ReplicatedJob) int64 {
	return int64(r.Replicas) * int64(*r.Template.Spec.Parallelism)
}

// completeProgress compares the status with the rendered JobSet.
func completeProgress(tj trainJob, inputs []client.Object, known job.Progress) job.Progress {
	js, err := renderFor(tj, inputs)
	if err != nil {
		return known
	}
	var ready, replicas int64
	for _, s := range readStatus(tj).JobsStatus {
		ready += int64(s.Ready) + int64(s.Succeeded)
		i := slices.IndexFunc(js.ReplicatedJobs, func(r jobsetv1.ReplicatedJob) bool { return r.Name == s.Name })
		if i < 0 {
			continue
		}
		r := &js.ReplicatedJobs[i]
		if free := int64(min(s.Succeeded, r.Replicas)) * int64(*r.Template.Spec.Parallelism); free > 0 {
			known.Reclaimable = append(known.Reclaimable, kueue.ReclaimablePod{Name: job.PodSetName(s.Name), Count: int32(min(free, math.MaxInt32))})
		}
	}
	for i := range js.ReplicatedJobs {
		replicas += int64(js.ReplicatedJobs[i].Replicas)
	}
	known.Ready = !suspended(tj) && replicas > 0 && ready >= replicas
	slices.SortFunc(known.Reclaimable, func(a, b kueue.ReclaimablePod) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return known
}

// covers holds for the JobSet of the TrainJob's name that has no other jobs, no more pods in any of them, and none that needs more than what is
// rendered has.
func covers(tj trainJob, inputs []client.Object, child client.Object) bool {
	made, ok := child.(*jobsetv1.JobSet)
	if !ok || made.Name != tj.GetName() {
		return false
	}
	js, err := renderFor(tj, inputs)
	return err == nil && asksAtMost(made, js)
}

func asksAtMost(made *jobsetv1.JobSet, rendered *jobsetv1.JobSetSpec) bool {
	for i := range made.Spec.ReplicatedJobs {
		r := &made.Spec.ReplicatedJobs[i]
		k := slices.IndexFunc(rendered.ReplicatedJobs, func(paid jobsetv1.ReplicatedJob) bool { return paid.Name == r.Name })
		if k < 0 {
			return false
		}
		paid := &rendered.ReplicatedJobs[k]
		spec := &r.Template.Spec
		parallelism := ptr.Deref(spec.Parallelism, 1)
		pods := int64(r.Replicas) * int64(min(parallelism, ptr.Deref(spec.Completions, parallelism)))
		if pods > podCount(paid) || !job.RequestsAtMost(&spec.Template.Spec, &paid.Template.Spec.Template.Spec) {
			return false
		}
	}
	return true
}
