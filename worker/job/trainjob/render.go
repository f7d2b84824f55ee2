package trainjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Names that have a meaning to the trainer.
const (
	ancestorLabel      = "trainer.kubeflow.org/trainjob-ancestor-step"
	ancestorTrainer    = "trainer"
	datasetInitializer = "dataset-initializer"
	modelInitializer   = "model-initializer"
	node               = "node"
	launcher           = "launcher"
	podGroupLabel      = "scheduling.x-k8s.io/pod-group"
	podGroupAnnotation = "scheduling.k8s.io/group-name"
)

// rendering is a JobSet on its way from the runtime's template to what the trainer makes of it.
type rendering struct {
	// name of the TrainJob.
	name string
	// trainer is the TrainJob's, empty if it has none; hasTrainer tells which.
	trainer    trainer
	hasTrainer bool
	policy     *mlPolicy
	jobs       []jobsetv1.ReplicatedJob
}

// render returns the JobSet that the trainer would make, as far as it decides about pods: all counts are set. An error says what the user must
// change.
func render(name string, s *spec, runtime *runtimeSpec) (*jobsetv1.JobSetSpec, error) {
	js := runtime.Template.Spec.DeepCopy()
	if err := applyPatches(js, s.RuntimePatches); err != nil {
		return nil, err
	}
	r := rendering{name: name, policy: runtime.MLPolicy, jobs: js.ReplicatedJobs, hasTrainer: s.Trainer != nil, trainer: ptr.Deref(s.Trainer, trainer{})}
	if ptr.Deref(r.trainer.NumNodes, 0) < 0 {
		return nil, field.Invalid(field.NewPath("spec", "trainer", "numNodes"), *r.trainer.NumNodes, "must not be negative")
	}
	r.countNodes()
	r.setResources()
	if err := r.enforcePolicy(); err != nil {
		return nil, err
	}
	r.initialize(datasetInitializer, s.Initializer.Dataset)
	r.initialize(modelInitializer, s.Initializer.Model)
	r.train()
	for i := range r.jobs {
		pod := &r.jobs[i].Template.Spec.Template
		if runtime.PodGroupPolicy.Coscheduling != nil {
			pod.Labels = with(pod.Labels, podGroupLabel, name)
		}
		if runtime.PodGroupPolicy.Volcano != nil {
			pod.Annotations = with(pod.Annotations, podGroupAnnotation, name)
		}
		setDefaults(pod.Spec.InitContainers)
		setDefaults(pod.Spec.Containers)
	}
	return js, nil
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// setDefaults adds what the API server gives to the containers of a Workload, with which these are compared.
func setDefaults(containers []corev1.Container) {
	for i := range containers {
		for k := range containers[i].Ports {
			if p := &containers[i].Ports[k]; p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
		}
	}
}

// errPatch says that a patch of a runtime cannot be merged.
var errPatch = errors.New("runtime patch cannot be merged")

// applyPatches merges the patches of all managers into the JobSet, in their order. The jobs stay in the runtime's order, and come before it if the runtime does
// not have them.
func applyPatches(js *jobsetv1.JobSetSpec, patches []runtimePatch) error {
	order := map[string]int{}
	for i := range js.ReplicatedJobs {
		order[js.ReplicatedJobs[i].Name] = i
	}
	for i := range patches {
		if len(patches[i].jobSet().ReplicatedJobs) == 0 {
			continue
		}
		if err := applyPatch(js, patches[i].jobSet()); err != nil {
			return fmt.Errorf("%w: that of %s: %w", errPatch, patches[i].Manager, err)
		}
	}
	slices.SortStableFunc(js.ReplicatedJobs, func(a, b jobsetv1.ReplicatedJob) int { return order[a.Name] - order[b.Name] })
	return nil
}

func applyPatch(js *jobsetv1.JobSetSpec, patch jobSetPatch) error {
	before, err := json.Marshal(js)
	if err != nil {
		return err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	after, err := strategicpatch.StrategicMergePatch(before, change, jobsetv1.JobSetSpec{})
	if err != nil {
		return err
	}
	*js = jobsetv1.JobSetSpec{}
	return json.Unmarshal(after, js)
}

// isStep tells whether a job is one of the trainer's steps.
func isStep(r *jobsetv1.ReplicatedJob, step string) bool {
	return r.Template.Labels[ancestorLabel] == step
}

// countNodes sets how many pods each replica of each job has before the ML policy is asked, and how many replicas: one of the jobs that the
// trainer looks after, and of others if the runtime does not say.
func (r *rendering) countNodes() {
	for i := range r.jobs {
		j := &r.jobs[i]
		pods := ptr.Deref(j.Template.Spec.Parallelism, 1)
		if isStep(j, ancestorTrainer) && r.policy != nil {
			pods = ptr.Deref(r.policy.NumNodes, 1)
		}
		setPods(j, max(pods, 1))
		if j.Replicas == 0 || isStep(j, ancestorTrainer) || isStep(j, datasetInitializer) || isStep(j, modelInitializer) {
			j.Replicas = 1
		}
	}
}

func setPods(j *jobsetv1.ReplicatedJob, pods int32) {
	j.Template.Spec.Parallelism, j.Template.Spec.Completions = &pods, ptr.To(pods)
}

// setResources merges the TrainJob's resources into those of the nodes.
func (r *rendering) setResources() {
	if r.policy == nil || r.trainer.ResourcesPerNode == nil {
		return
	}
	for i := range r.jobs {
		j := &r.jobs[i]
		if c := findContainer(j, node); c != nil && (isStep(j, ancestorTrainer) || r.isLauncherNode() && j.Name == node) {
			c.Resources = corev1.ResourceRequirements{
				Limits:   merge(c.Resources.Limits, r.trainer.ResourcesPerNode.Limits),
				Requests: merge(c.Resources.Requests, r.trainer.ResourcesPerNode.Requests),
			}
		}
	}
}

// isLauncherNode tells whether an MPI launcher is one of the nodes.
func (r *rendering) isLauncherNode() bool {
	return r.policy != nil && r.policy.MPI != nil && r.policy.MPI.RunLauncherAsNode
}

func merge(base, over corev1.ResourceList) corev1.ResourceList {
	if len(over) == 0 {
		return base
	}
	merged := maps.Clone(over)
	for name, quantity := range base {
		if _, ok := merged[name]; !ok {
			merged[name] = quantity
		}
	}
	return merged
}

// findContainer returns the container of a job, not one of its init containers; nil if there is none.
func findContainer(j *jobsetv1.ReplicatedJob, name string) *corev1.Container {
	if j == nil {
		return nil
	}
	return byName(j.Template.Spec.Template.Spec.Containers, name)
}

func byName(containers []corev1.Container, name string) *corev1.Container {
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &containers[i]
}

// trainerJob is the first job of the trainer's step; nil if there is none.
func (r *rendering) trainerJob() *jobsetv1.ReplicatedJob {
	return r.find(func(j *jobsetv1.ReplicatedJob) bool { return isStep(j, ancestorTrainer) })
}

func (r *rendering) named(name string) *jobsetv1.ReplicatedJob {
	return r.find(func(j *jobsetv1.ReplicatedJob) bool { return j.Name == name })
}

func (r *rendering) find(is func(*jobsetv1.ReplicatedJob) bool) *jobsetv1.ReplicatedJob {
	for i := range r.jobs {
		if is(&r.jobs[i]) {
			return &r.jobs[i]
		}
	}
	return nil
}

// initialize tells the containers of an initializer what to fetch.
func (r *rendering) initialize(step string, what *initializer) {
	if what == nil {
		return
	}
	for i := range r.jobs {
		c := findContainer(&r.jobs[i], step)
		if c == nil || !isStep(&r.jobs[i], step) {
			continue
		}
		if what.StorageURI != nil {
			c.Env = upsertEnv(c.Env, corev1.EnvVar{Name: "STORAGE_URI", Value: *what.StorageURI})
		}
		c.Env = upsertEnv(c.Env, normalEnv(what.Env)...)
		if what.SecretRef != nil {
			c.EnvFrom = append(c.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *what.SecretRef}})
		}
	}
}

// train tells the nodes what to run.
func (r *rendering) train() {
	for i := range r.jobs {
		j := &r.jobs[i]
		c := findContainer(j, node)
		trains := isStep(j, ancestorTrainer)
		if c == nil || !r.hasTrainer || !trains && (!r.isLauncherNode() || j.Name != node) {
			continue
		}
		if trains {
			c.Image = ptr.Deref(r.trainer.Image, c.Image)
			if r.trainer.Command != nil {
				c.Command = r.trainer.Command
			}
			if r.trainer.Args != nil {
				c.Args = r.trainer.Args
			}
		}
		c.Env = upsertEnv(c.Env, normalEnv(r.trainer.Env)...)
	}
}

// normalEnv returns variables with what the trainer takes over of each.
func normalEnv(env []corev1.EnvVar) []corev1.EnvVar {
	normal := make([]corev1.EnvVar, len(env))
	for i, e := range env {
		normal[i] = corev1.EnvVar{Name: e.Name, Value: e.Value}
		if e.ValueFrom == nil {
			continue
		}
		from := e.ValueFrom.DeepCopy()
		from.FileKeyRef = nil
		if from.FieldRef != nil {
			from.FieldRef.APIVersion = ""
		}
		normal[i] = corev1.EnvVar{Name: e.Name, ValueFrom: from}
	}
	return normal
}

// upsertEnv replaces variables of the same names, and adds others.
func upsertEnv(env []corev1.EnvVar, more ...corev1.EnvVar) []corev1.EnvVar {
	return upsert(env, more, func(a, b corev1.EnvVar) bool { return a.Name == b.Name })
}

func upsert[E any](list, more []E, same func(a, b E) bool) []E {
	for _, m := range more {
		if i := slices.IndexFunc(list, func(e E) bool { return same(e, m) }); i >= 0 {
			list[i] = m
			continue
		}
		list = append(list, m)
	}
	return list
}
