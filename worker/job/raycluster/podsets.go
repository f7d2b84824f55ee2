package raycluster

import (
	"errors"
	"maps"
	"slices"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

const (
	// headGroup is the name of the pod set of the head.
	headGroup = "head"
	// faultToleranceAnnotation = "true" asks for GCS fault tolerance, in older manifests.
	faultToleranceAnnotation = "ray.io/ft-enabled"
)

var errNoRayContainer = errors.New("cannot account for Redis cleanup resources: head pod template must include the Ray container")

// Templates are those of the head and of the worker groups; base is the path of the spec.
func Templates(spec *rayv1.RayClusterSpec, base *field.Path) []job.Template {
	list := []job.Template{newTemplate(headGroup, 1, &spec.HeadGroupSpec.Template, base.Child("headGroupSpec"))}
	for i := range spec.WorkerGroupSpecs {
		g := &spec.WorkerGroupSpecs[i]
		list = append(list, newTemplate(g.GroupName, workers(g), &g.Template, base.Child("workerGroupSpecs").Index(i)))
	}
	return list
}

func newTemplate(name string, count int64, pod *corev1.PodTemplateSpec, path *field.Path) job.Template {
	return job.Template{Name: name, Count: count, Pod: pod, Path: path, Metadata: path.Child("template", "metadata")}
}

// workers is how many pods a group has. KubeRay never runs fewer replicas than the minimum.
func workers(g *rayv1.WorkerGroupSpec) int64 {
	replicas := max(ptr.Deref(g.Replicas, 1), ptr.Deref(g.MinReplicas, 0))
	return int64(replicas) * int64(max(g.NumOfHosts, 1))
}

// resize has the groups of a RayCluster on another cluster that the local one has too run as many pods as their pod sets say (contract:
// job-kinds.md 15).
func resize(local, remote *rayv1.RayCluster, sets []kueue.PodSet) bool {
	changed := false
	for i := range remote.Spec.WorkerGroupSpecs {
		to := &remote.Spec.WorkerGroupSpecs[i]
		set := slices.IndexFunc(sets, func(s kueue.PodSet) bool { return s.Name == job.PodSetName(to.GroupName) })
		from := slices.IndexFunc(local.Spec.WorkerGroupSpecs, func(g rayv1.WorkerGroupSpec) bool { return g.GroupName == to.GroupName })
		if set >= 0 && from >= 0 {
			changed = resizeGroup(&local.Spec.WorkerGroupSpecs[from], to, int64(sets[set].Count)) || changed
		}
	}
	return changed
}

// resizeGroup takes the size of the local group if that is the one, and otherwise as many replicas as make up the pods. A size that these
// cannot make up is none.
func resizeGroup(local, to *rayv1.WorkerGroupSpec, pods int64) bool {
	replicas, hosts := ptr.Deref(to.Replicas, 1), to.NumOfHosts
	switch each := int64(max(hosts, 1)); {
	case workers(local) == pods:
		replicas, hosts = int32(workers(local)/int64(max(local.NumOfHosts, 1))), local.NumOfHosts
	case workers(to) != pods && pods%each == 0:
		replicas = int32(pods / each)
	}
	if workers(to) == pods && max(hosts, 1) == max(to.NumOfHosts, 1) || ptr.Deref(to.Replicas, 1) == replicas && to.NumOfHosts == hosts {
		return false
	}
	to.Replicas, to.NumOfHosts = &replicas, hosts
	return true
}

// PodSets returns a pod set for each template, of which the first is the head's. What KubeRay adds to the head is counted, and is not in the
// template: the autoscaler, and what cleaning Redis up takes when the head is gone (contract: job-kinds.md 5). The annotations are the
// job's.
func PodSets(spec *rayv1.RayClusterSpec, annotations map[string]string, templates []job.Template) ([]kueue.PodSet, error) {
	sets, err := job.TemplatePodSets(templates)
	if err != nil {
		return nil, err
	}
	head := &sets[0].Template.Spec
	if IsFaultTolerant(spec, annotations) {
		if len(head.Containers) == 0 {
			return nil, errNoRayContainer
		}
		raiseRequests(&head.Containers[0].Resources, cleanupRequests())
	}
	if ptr.Deref(spec.EnableInTreeAutoscaling, false) {
		head.Containers = append(head.Containers, corev1.Container{Name: "autoscaler", Resources: autoscalerResources(spec)})
	}
	return sets, nil
}

// IsFaultTolerant tells whether the state of the cluster's head is kept in Redis, which has to be cleaned up after the cluster.
func IsFaultTolerant(spec *rayv1.RayClusterSpec, annotations map[string]string) bool {
	return spec.GcsFaultToleranceOptions != nil || strings.EqualFold(annotations[faultToleranceAnnotation], "true")
}

// autoscalerResources are those of the container that KubeRay adds to the head.
func autoscalerResources(spec *rayv1.RayClusterSpec) corev1.ResourceRequirements {
	if o := spec.AutoscalerOptions; o != nil && o.Resources != nil {
		return *o.Resources.DeepCopy()
	}
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")}
	return corev1.ResourceRequirements{Requests: list, Limits: list.DeepCopy()}
}

// cleanupRequests are those of the only container of the pod that cleans Redis up.
func cleanupRequests() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m"), corev1.ResourceMemory: resource.MustParse("256Mi")}
}

// raiseRequests makes requests at least those given. What is not requested is as much as its limit.
func raiseRequests(r *corev1.ResourceRequirements, least corev1.ResourceList) {
	raised := maps.Clone(r.Requests)
	if raised == nil {
		raised = corev1.ResourceList{}
	}
	for name, quantity := range least {
		has, ok := raised[name]
		if !ok {
			has, ok = r.Limits[name]
		}
		if !ok || has.Cmp(quantity) < 0 {
			raised[name] = quantity
		}
	}
	r.Requests = raised
}
