// Package raycluster declares the RayCluster of ray.io/v1 (contract: job-kinds.md 5), and knows what all kinds have in common that make
// RayClusters: the pod sets of a RayClusterSpec, the rules about it, and which RayCluster is one that such a job pays for.
package raycluster

import (
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Operator is the value of spec.managedBy that means KubeRay itself, in all kinds of ray.io.
const Operator = "ray.io/kuberay-operator"

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/status,verbs=patch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/finalizers,verbs=update
// +kubebuilder:webhook:path=/mutate-ray-io-v1-raycluster,mutating=true,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayclusters,verbs=create,versions=v1,name=mraycluster.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-ray-io-v1-raycluster,mutating=false,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayclusters,verbs=create;update,versions=v1,name=vraycluster.kb.io,admissionReviewVersions=v1

// Kind returns the declaration.
func Kind() job.Kind[*rayv1.RayCluster] {
	return job.FromTemplates(job.Kind[*rayv1.RayCluster]{
		Name:        "ray.io/raycluster",
		GVK:         rayv1.GroupVersion.WithKind("RayCluster"),
		AddToScheme: rayv1.AddToScheme,
		New:         func() *rayv1.RayCluster { return &rayv1.RayCluster{} },
		NewList:     func() client.ObjectList { return &rayv1.RayClusterList{} },

		PodSets:              podSets,
		Suspended:            func(rc *rayv1.RayCluster) bool { return ptr.Deref(rc.Spec.Suspend, false) },
		SetSuspend:           func(rc *rayv1.RayCluster, suspend bool) { rc.Spec.Suspend = &suspend },
		Progress:             progress,
		ControllerObserved:   controllerObserved,
		LastControllerUpdate: func(rc *rayv1.RayCluster) time.Time { return LastUpdate(&rc.Status) },
		Elastic:              job.ResizableTemplates(templates, resize),
		Children:             children(),
		Webhook: job.Webhook[*rayv1.RayCluster]{
			Default:     func(rc *rayv1.RayCluster, gates job.Gates) { GateElastic(rc, &rc.Spec, gates) },
			Validate:    func(_, rc *rayv1.RayCluster) field.ErrorList { return validate(rc) },
			ManagedOnly: true,
		},

		ManagedBy: job.ManagedByField("spec.managedBy", Operator, func(rc *rayv1.RayCluster) **string { return &rc.Spec.ManagedBy }),
		CopyStatus: job.StatusCopier(
			func(rc *rayv1.RayCluster) *rayv1.RayClusterStatus { return &rc.Status },
			func(*rayv1.RayCluster) bool { return false },
		),
		Detach: func(rc *rayv1.RayCluster) { rc.Status = rayv1.RayClusterStatus{} },
		Strip:  func(rc *rayv1.RayCluster) { StripSpec(&rc.Spec) },
	}, templates)
}

func templates(rc *rayv1.RayCluster) []job.Template {
	return Templates(&rc.Spec, field.NewPath("spec"))
}

func podSets(rc *rayv1.RayCluster) ([]kueue.PodSet, error) {
	return PodSets(&rc.Spec, rc.Annotations, templates(rc))
}

// StripSpec drops the pod templates of a cached object, which no decision about a remote job reads.
func StripSpec(spec *rayv1.RayClusterSpec) {
	spec.HeadGroupSpec.Template = corev1.PodTemplateSpec{}
	for i := range spec.WorkerGroupSpecs {
		spec.WorkerGroupSpecs[i].Template = corev1.PodTemplateSpec{}
	}
}
