package rayjob

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

// submitterSet is the pod set of the pod that submits the RayJob.
const submitterSet = "submitter"

// hasSubmitterPod tells whether a batch Job submits the RayJob, which is so unless another mode is named.
func hasSubmitterPod(j *rayv1.RayJob) bool {
	return j.Spec.SubmissionMode == rayv1.K8sJobMode || j.Spec.SubmissionMode == ""
}

// templates are those of the cluster, and the submitter's. One that is made up is not part of the RayJob.
func templates(j *rayv1.RayJob) []job.Template {
	if j.Spec.RayClusterSpec == nil {
		return nil
	}
	list := raycluster.Templates(j.Spec.RayClusterSpec, field.NewPath("spec", "rayClusterSpec"))
	if !hasSubmitterPod(j) {
		return list
	}
	path := field.NewPath("spec", "submitterPodTemplate")
	pod := j.Spec.SubmitterPodTemplate
	if pod == nil {
		pod = defaultSubmitter(j.Spec.RayClusterSpec)
	}
	return append(list, job.Template{Name: submitterSet, Count: 1, Pod: pod, Path: path, Metadata: path.Child("metadata")})
}

// place puts the submitter's template into the RayJob where it has none: KubeRay's own could not be placed.
func place(j *rayv1.RayJob, placements []job.Placement) error {
	if j.Spec.RayClusterSpec != nil && hasSubmitterPod(j) && j.Spec.SubmitterPodTemplate == nil {
		j.Spec.SubmitterPodTemplate = defaultSubmitter(j.Spec.RayClusterSpec)
	}
	return job.PlaceTemplates(templates(j), placements)
}

// restore takes the made-up template out again. One of the user's own that is the same says no more than none.
func restore(j *rayv1.RayJob, sets []kueue.PodSet) {
	job.RestoreTemplates(templates(j), sets)
	if spec := j.Spec.RayClusterSpec; spec != nil && len(sets) > 0 && equality.Semantic.DeepEqual(j.Spec.SubmitterPodTemplate, defaultSubmitter(spec)) {
		j.Spec.SubmitterPodTemplate = nil
	}
}

// defaultSubmitter is what KubeRay makes up for a RayJob without a template.
func defaultSubmitter(spec *rayv1.RayClusterSpec) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{submitterContainer(spec)}, RestartPolicy: corev1.RestartPolicyNever,
	}}
}

// submitterContainer is the container that submits the RayJob, in a pod of its own or in the head.
func submitterContainer(spec *rayv1.RayClusterSpec) corev1.Container {
	c := corev1.Container{
		Name: "ray-job-submitter",
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("200Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
	}
	if head := spec.HeadGroupSpec.Template.Spec.Containers; len(head) > 0 {
		c.Image = head[0].Image
	}
	return c
}
