package sparkapplication

import (
	"maps"
	"slices"
	"strings"

	spark "github.com/kubeflow/spark-operator/v2/api/v1beta2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// role is the driver or the executors of an application, where it stands there.
type role struct {
	name, container string
	count           int64
	// path is where it stands, and countPath that of its number.
	path, countPath            *field.Path
	pod                        *spark.SparkPodSpec
	coreRequest, priorityClass *string
}

// roles are those of every application, in the order of the pod sets.
func roles(app *spark.SparkApplication) []role {
	driver, executor := &app.Spec.Driver, &app.Spec.Executor
	paths := [2]*field.Path{field.NewPath("spec", "driver"), field.NewPath("spec", "executor")}
	return []role{
		{
			name: "driver", container: "spark-kubernetes-driver", count: 1, path: paths[0], countPath: paths[0],
			pod: &driver.SparkPodSpec, coreRequest: driver.CoreRequest, priorityClass: driver.PriorityClassName,
		},
		{
			name: "executor", container: "spark-kubernetes-executor", count: int64(ptr.Deref(executor.Instances, 0)),
			path: paths[1], countPath: paths[1].Child("instances"),
			pod: &executor.SparkPodSpec, coreRequest: executor.CoreRequest, priorityClass: executor.PriorityClassName,
		},
	}
}

// podSets are always two. Their templates are made of what the application says to Spark and to the operator (contract: job-kinds.md 9):
// what its own pod templates ask for does not count.
func podSets(app *spark.SparkApplication) ([]kueue.PodSet, error) {
	var list []job.Template
	for _, r := range roles(app) {
		pod, err := r.template(app.Spec.Volumes)
		if err != nil {
			return nil, err
		}
		list = append(list, job.Template{Name: r.name, Count: r.count, Pod: pod, Path: r.countPath})
	}
	return job.TemplatePodSets(list)
}

// template returns the pod template of the role.
func (r role) template(volumes []corev1.Volume) (*corev1.PodTemplateSpec, error) {
	resources, err := r.resources()
	if err != nil {
		return nil, err
	}
	t := r.placement()
	t.Spec.Affinity, t.Spec.PriorityClassName = r.pod.Affinity, ptr.Deref(r.priorityClass, "")
	main := corev1.Container{Name: r.container, Resources: resources}
	t.Spec.Volumes, main.VolumeMounts = r.mounts(volumes)
	t.Spec.Containers = append(t.Spec.Containers, main)
	for _, sidecar := range r.pod.Sidecars {
		t.Spec.Containers = appendNew(t.Spec.Containers, sidecar)
	}
	for _, first := range r.pod.InitContainers {
		t.Spec.InitContainers = appendNew(t.Spec.InitContainers, first)
	}
	return t.DeepCopy(), nil
}

// placement returns the parts of the role's template that a placement changes. What the role says goes before what its own template says.
func (r role) placement() *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Spec.NodeSelector, t.Spec.Tolerations = r.pod.NodeSelector, r.pod.Tolerations
	labels, annotations := r.ownMetadata()
	if r.pod.Template != nil {
		t.Spec.SchedulingGates = r.pod.Template.Spec.SchedulingGates
	}
	t.Labels, t.Annotations = overlay(labels, r.pod.Labels), overlay(annotations, r.pod.Annotations)
	return t
}

// ownMetadata are the labels and annotations of the role's own template.
func (r role) ownMetadata() (labels, annotations map[string]string) {
	if r.pod.Template == nil {
		return nil, nil
	}
	return r.pod.Template.Labels, r.pod.Template.Annotations
}

// overlay returns the entries of both, those of the second before those of the first; nil if there are none.
func overlay(first, second map[string]string) map[string]string {
	if len(first)+len(second) == 0 {
		return nil
	}
	all := make(map[string]string, len(first)+len(second))
	maps.Copy(all, first)
	maps.Copy(all, second)
	return all
}

// mounts are the application's volumes that the role mounts, and how. Directories of Spark's own are left to Spark.
func (r role) mounts(volumes []corev1.Volume) (used []corev1.Volume, mounts []corev1.VolumeMount) {
	for _, mount := range r.pod.VolumeMounts {
		named := func(v corev1.Volume) bool { return v.Name == mount.Name }
		i := slices.IndexFunc(volumes, named)
		if i < 0 || strings.HasPrefix(mount.Name, "spark-local-dir-") {
			continue
		}
		if !slices.ContainsFunc(used, named) {
			used = append(used, volumes[i])
		}
		mounts = append(mounts, mount)
	}
	return used, mounts
}

// appendNew adds a container unless there is one of that name and image.
func appendNew(containers []corev1.Container, c corev1.Container) []corev1.Container {
	if slices.ContainsFunc(containers, func(has corev1.Container) bool { return has.Name == c.Name && has.Image == c.Image }) {
		return containers
	}
	return append(containers, c)
}

// resources are those of the role's main container. An error says which field cannot be read.
func (r role) resources() (corev1.ResourceRequirements, error) {
	all := corev1.ResourceRequirements{}
	for _, part := range []struct {
		list  *corev1.ResourceList
		name  corev1.ResourceName
		field string
		text  *string
	}{
		{&all.Requests, corev1.ResourceCPU, "coreRequest", r.coreRequest},
		{&all.Requests, corev1.ResourceMemory, "memory", r.pod.Memory},
		{&all.Limits, corev1.ResourceCPU, "coreLimit", r.pod.CoreLimit},
		{&all.Limits, corev1.ResourceMemory, "memoryLimit", r.pod.MemoryLimit},
	} {
		text := ptr.Deref(part.text, "")
		if text == "" {
			continue
		}
		amount, err := parseAmount(text, part.name == corev1.ResourceMemory)
		if err != nil {
			return all, field.Invalid(r.path.Child(part.field), text[:min(len(text), 64)], err.Error())
		}
		set(part.list, part.name, amount)
	}
	if gpu := r.pod.GPU; gpu != nil && gpu.Name != "" && gpu.Quantity > 0 { // the operator ignores others
		set(&all.Limits, corev1.ResourceName(gpu.Name), *resource.NewQuantity(gpu.Quantity, resource.DecimalSI))
	}
	return all, nil
}

func set(list *corev1.ResourceList, name corev1.ResourceName, amount resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = amount
}
