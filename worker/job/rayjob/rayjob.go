// Package rayjob declares the RayJob of ray.io/v1 (contract: job-kinds.md 6).
package rayjob

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

const kind = "RayJob"

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=ray.io,resources=rayjobs/status,verbs=patch
// +kubebuilder:rbac:groups=ray.io,resources=rayjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list
// +kubebuilder:webhook:path=/mutate-ray-io-v1-rayjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayjobs,verbs=create,versions=v1,name=mrayjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-ray-io-v1-rayjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=ray.io,resources=rayjobs,verbs=create;update,versions=v1,name=vrayjob.kb.io,admissionReviewVersions=v1

// Kind returns the declaration.
func Kind() job.Kind[*rayv1.RayJob] {
	return job.FromTemplates(job.Kind[*rayv1.RayJob]{
		Name:        "ray.io/rayjob",
		GVK:         rayv1.GroupVersion.WithKind(kind),
		AddToScheme: rayv1.AddToScheme,
		New:         func() *rayv1.RayJob { return &rayv1.RayJob{} },
		NewList:     func() client.ObjectList { return &rayv1.RayJobList{} },

		PodSets:              podSets,
		Suspended:            func(j *rayv1.RayJob) bool { return j.Spec.Suspend },
		SetSuspend:           func(j *rayv1.RayJob, suspend bool) { j.Spec.Suspend = suspend },
		Place:                place,
		Restore:              restore,
		Progress:             progress,
		Ignores:              usesExistingCluster,
		ControllerObserved:   controllerObserved,
		LastControllerUpdate: lastControllerUpdate,
		Elastic:              elastic(),
		Children:             children(),
		Webhook: job.Webhook[*rayv1.RayJob]{
			Validate:    func(_, j *rayv1.RayJob) field.ErrorList { return validate(j) },
			ManagedOnly: true,
		},

		ManagedBy: job.ManagedByField("spec.managedBy", raycluster.Operator, func(j *rayv1.RayJob) **string { return &j.Spec.ManagedBy }),
		CopyStatus: job.StatusCopier(
			func(j *rayv1.RayJob) *rayv1.RayJobStatus { return &j.Status },
			func(j *rayv1.RayJob) bool { return outcome(j) != nil },
		),
		Detach: detach,
		Strip:  strip,
	}, templates)
}

// elastic is scaled by its groups, but not by its submitter, whose pod never waits.
func elastic() *job.Elastic[*rayv1.RayJob] {
	return raycluster.ElasticChild(job.ElasticTemplates(templates, submitterSet),
		func(j *rayv1.RayJob) *rayv1.RayClusterSpec { return j.Spec.RayClusterSpec },
		func(j *rayv1.RayJob) string { return j.Status.RayClusterName })
}

// usesExistingCluster tells of a RayJob that runs on a RayCluster which it did not make, so that it asks for nothing.
func usesExistingCluster(j *rayv1.RayJob) bool { return len(j.Spec.ClusterSelector) > 0 }

// validate holds the rules for a managed RayJob (contract: job-kinds.md 6).
func validate(j *rayv1.RayJob) field.ErrorList {
	spec := field.NewPath("spec")
	switch {
	case usesExistingCluster(j) && j.Spec.RayClusterSpec != nil:
		const text = "a kueue managed job should not use an existing cluster"
		return field.ErrorList{field.Invalid(spec.Child("clusterSelector"), j.Spec.ClusterSelector, text)}
	case usesExistingCluster(j):
		return nil
	case j.Spec.RayClusterSpec == nil:
		return field.ErrorList{errNoCluster()}
	}
	var errs field.ErrorList
	if !j.Spec.ShutdownAfterJobFinishes {
		const text = "a kueue managed job should delete the cluster after finishing"
		errs = append(errs, field.Invalid(spec.Child("shutdownAfterJobFinishes"), false, text))
	}
	others := 0
	if hasSubmitterPod(j) {
		others = 1
	}
	return append(errs, raycluster.ValidateEmbedded(j, j.Spec.RayClusterSpec, others)...)
}

func errNoCluster() *field.Error {
	return field.Required(field.NewPath("spec", "rayClusterSpec"), "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector")
}

func podSets(j *rayv1.RayJob) ([]kueue.PodSet, error) {
	if j.Spec.RayClusterSpec == nil {
		return nil, errNoCluster()
	}
	sets, err := raycluster.PodSets(j.Spec.RayClusterSpec, j.Annotations, templates(j))
	if err != nil || j.Spec.SubmissionMode != rayv1.SidecarMode {
		return sets, err
	}
	sidecar := submitterContainer(j.Spec.RayClusterSpec)
	sidecar.Image = "" // what it is does not count
	head := &sets[0].Template.Spec
	head.Containers = append(head.Containers, sidecar)
	return sets, nil
}

// detach leaves what the user wrote. A finished copy must not vanish before its result is known; its maker deletes it.
func detach(j *rayv1.RayJob) {
	if s := j.Spec.DeletionStrategy; s != nil {
		keepSelf(s.OnSuccess)
		keepSelf(s.OnFailure)
	}
	j.Status = rayv1.RayJobStatus{}
}

func keepSelf(p *rayv1.DeletionPolicy) {
	if p != nil && p.Policy != nil && *p.Policy == rayv1.DeleteSelf {
		*p.Policy = rayv1.DeleteCluster
	}
}

// strip drops the pod templates of a cached RayJob, which no decision reads.
func strip(j *rayv1.RayJob) {
	j.Spec.SubmitterPodTemplate = nil
	if j.Spec.RayClusterSpec != nil {
		raycluster.StripSpec(j.Spec.RayClusterSpec)
	}
}
