// Package rayservice declares the RayService of ray.io/v1 (contract: job-kinds.md 7).
package rayservice

import (
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

const kind = "RayService"

// +kubebuilder:rbac:groups=ray.io,resources=rayservices,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=ray.io,resources=rayservices/status,verbs=patch
// +kubebuilder:rbac:groups=ray.io,resources=rayservices/finalizers,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:webhook:path=/mutate-ray-io-v1-rayservice,mutating=true,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayservices,verbs=create,versions=v1,name=mrayservice.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-ray-io-v1-rayservice,mutating=false,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayservices,verbs=create;update,versions=v1,name=vrayservice.kb.io,admissionReviewVersions=v1

// Kind returns the declaration. Only the configuration of its RayClusters decides what a RayService asks for: what it serves may change.
func Kind() job.Kind[*rayv1.RayService] {
	return job.FromTemplates(job.Kind[*rayv1.RayService]{
		Name:        "ray.io/rayservice",
		GVK:         rayv1.GroupVersion.WithKind(kind),
		AddToScheme: rayv1.AddToScheme,
		New:         func() *rayv1.RayService { return &rayv1.RayService{} },
		NewList:     func() client.ObjectList { return &rayv1.RayServiceList{} },

		PodSets:                podSets,
		Suspended:              isSuspended,
		SetSuspend:             func(rs *rayv1.RayService, suspend bool) { rs.Spec.RayClusterSpec.Suspend = &suspend },
		Progress:               progress,
		KeepsQuotaWhileDeleted: cleansRedisUp,
		LastControllerUpdate:   lastControllerUpdate,
		Elastic:                elastic(),
		Children:               children(),
		Webhook: job.Webhook[*rayv1.RayService]{
			Default: func(rs *rayv1.RayService, gates job.Gates) {
				raycluster.GateElastic(rs, &rs.Spec.RayClusterSpec, gates)
			},
			Validate: func(_, rs *rayv1.RayService) field.ErrorList {
				return raycluster.ValidateEmbedded(rs, &rs.Spec.RayClusterSpec, 0)
			},
			ManagedOnly: true,
		},

		ManagedBy: job.ManagedByField("spec.managedBy", raycluster.Operator, func(rs *rayv1.RayService) **string { return &rs.Spec.ManagedBy }),
		CopyStatus: job.StatusCopier(
			func(rs *rayv1.RayService) *rayv1.RayServiceStatuses { return &rs.Status },
			func(*rayv1.RayService) bool { return false },
		),
		SyncSpec: follow,
		Detach:   func(rs *rayv1.RayService) { rs.Status = rayv1.RayServiceStatuses{} },
		Strip:    func(rs *rayv1.RayService) { raycluster.StripSpec(&rs.Spec.RayClusterSpec) },
	}, templates)
}

// elastic is scaled by the RayCluster that serves, not by the one that is to follow it.
func elastic() *job.Elastic[*rayv1.RayService] {
	return raycluster.ElasticChild(job.ElasticTemplates(templates),
		func(rs *rayv1.RayService) *rayv1.RayClusterSpec { return &rs.Spec.RayClusterSpec },
		func(rs *rayv1.RayService) string { return rs.Status.ActiveServiceStatus.RayClusterName })
}

func isSuspended(rs *rayv1.RayService) bool { return ptr.Deref(rs.Spec.RayClusterSpec.Suspend, false) }

// templates have the paths of the public API, which are not those of the field.
func templates(rs *rayv1.RayService) []job.Template {
	return raycluster.Templates(&rs.Spec.RayClusterSpec, field.NewPath("spec", "rayClusterSpec"))
}

// podSets are those of one RayCluster. That KubeRay runs two while it replaces one is not counted, as in the public API.
func podSets(rs *rayv1.RayService) ([]kueue.PodSet, error) {
	return raycluster.PodSets(&rs.Spec.RayClusterSpec, rs.Annotations, templates(rs))
}

// cleansRedisUp tells of a RayService that is being deleted whether its RayClusters need quota until they are gone.
func cleansRedisUp(rs *rayv1.RayService, gates job.Gates) bool {
	return gates.DeferRayServiceFinalization && raycluster.IsFaultTolerant(&rs.Spec.RayClusterSpec, rs.Annotations)
}

// follow brings what a RayService on another cluster serves in line with the local one.
func follow(local, remote *rayv1.RayService) bool {
	changed := remote.Spec.ServeConfigV2 != local.Spec.ServeConfigV2
	remote.Spec.ServeConfigV2 = local.Spec.ServeConfigV2
	return changed
}

// progress returns how far the RayService is. It has no end of its own. A suspended one has the pods that its RayClusters have (children).
func progress(rs *rayv1.RayService) job.Progress {
	ready := meta.IsStatusConditionTrue(rs.Status.Conditions, string(rayv1.RayServiceReady))
	made := rs.Status.ActiveServiceStatus.RayClusterName != "" || rs.Status.PendingServiceStatus.RayClusterName != ""
	return job.Progress{Active: ready || made && !isSuspended(rs), Ready: ready && !isSuspended(rs)}
}

func lastControllerUpdate(rs *rayv1.RayService) time.Time {
	latest := raycluster.LastTransition(rs.Status.Conditions)
	if at := rs.Status.LastUpdateTime; at != nil && at.After(latest) {
		return at.Time
	}
	return latest
}

// children are the RayCluster that serves and the one that is to follow it. Without a head KubeRay leaves the status of the RayService as
// it is, so that it may be ready for as long as it is suspended: its RayClusters know better.
func children() *job.Children[*rayv1.RayService] {
	return &job.Children[*rayv1.RayService]{
		NewLists:  func() []client.ObjectList { return []client.ObjectList{&rayv1.RayClusterList{}} },
		Labels:    func(rs *rayv1.RayService) map[string]string { return raycluster.ChildLabels(kind, rs) },
		Covers:    covers,
		HoldsPods: holdsPods,
		Decide:    true,
		Watched:   func() []client.Object { return []client.Object{&rayv1.RayCluster{}} },
	}
}

// covers holds for the RayClusters that KubeRay has named in the status, which it does before it makes one.
func covers(rs *rayv1.RayService, child client.Object) bool {
	rc, ok := child.(*rayv1.RayCluster)
	if !ok || rc.Name == "" || rc.Name != rs.Status.ActiveServiceStatus.RayClusterName && rc.Name != rs.Status.PendingServiceStatus.RayClusterName {
		return false
	}
	sets, err := podSets(rs)
	return err == nil && raycluster.AsksAtMost(rc, sets)
}

func holdsPods(child client.Object) bool {
	rc, ok := child.(*rayv1.RayCluster)
	return ok && raycluster.HoldsPods(rc)
}
