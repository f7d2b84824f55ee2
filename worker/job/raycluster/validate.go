package raycluster

import (
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// maxPodSets is how many pod sets a Workload can have.
const maxPodSets = 18

const (
	autoscalingText = "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the " +
		"ElasticJobsViaWorkloadSlices feature gate and set the \"" + kueue.ElasticJobAnnotation + "\": \"true\" annotation"
	elsewhereText     = "in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster"
	embeddedScaleText = "a kueue managed job should only use autoscaling when workload slicing is enabled"
)

// validate holds the rules for a managed RayCluster (contract: job-kinds.md 5).
func validate(rc *rayv1.RayCluster) field.ErrorList {
	base := field.NewPath("spec")
	autoscaling := base.Child("enableInTreeAutoscaling")
	scales := ptr.Deref(rc.Spec.EnableInTreeAutoscaling, false)
	var errs field.ErrorList
	switch {
	case scales && !IsElastic(rc):
		errs = append(errs, field.Invalid(autoscaling, true, autoscalingText))
	case IsElastic(rc):
		errs = append(errs, validateGates(&rc.Spec, base)...)
		if scales && ptr.Deref(rc.Spec.ManagedBy, "") == kueue.MultiKueueControllerName {
			errs = append(errs, field.Forbidden(autoscaling, elsewhereText))
		}
	}
	return append(errs, validateGroups(&rc.Spec, base, 0)...)
}

// ValidateEmbedded holds the rules for the spec of the RayClusters that a managed job makes; others is how many pod sets the job has
// besides (contract: job-kinds.md 6).
func ValidateEmbedded(owner client.Object, spec *rayv1.RayClusterSpec, others int) field.ErrorList {
	base := field.NewPath("spec", "rayClusterSpec")
	var errs field.ErrorList
	if ptr.Deref(spec.EnableInTreeAutoscaling, false) && !IsElastic(owner) {
		errs = append(errs, field.Invalid(base.Child("enableInTreeAutoscaling"), true, embeddedScaleText))
	}
	return append(errs, validateGroups(spec, base, others)...)
}

// IsElastic tells whether the job may be scaled while it runs.
func IsElastic(obj client.Object) bool {
	return workload.IsElastic(obj)
}

// GateElastic lets the pods of an elastic job wait until what they need has been admitted.
func GateElastic(obj client.Object, spec *rayv1.RayClusterSpec, gates job.Gates) {
	if !gates.ElasticJobs || !IsElastic(obj) {
		return
	}
	for _, t := range Templates(spec, nil) {
		job.GateElastically(t.Pod)
	}
}

// validateGates wants every pod of an elastic job gated, the workers' said first.
func validateGates(spec *rayv1.RayClusterSpec, base *field.Path) field.ErrorList {
	var errs field.ErrorList
	list := Templates(spec, base)
	for _, t := range append(list[1:], list[0]) {
		if !job.IsElasticallyGated(t.Pod) {
			path := t.Path.Child("template", "spec", "schedulingGates")
			errs = append(errs, field.Invalid(path, t.Pod.Spec.SchedulingGates, "an elastic job must have the ElasticJobSchedulingGate"))
		}
	}
	return errs
}

// validateGroups judges number and names of the worker groups.
func validateGroups(spec *rayv1.RayClusterSpec, base *field.Path, others int) field.ErrorList {
	var errs field.ErrorList
	path := base.Child("workerGroupSpecs")
	if n := len(spec.WorkerGroupSpecs) + 1 + others; n > maxPodSets {
		errs = append(errs, field.TooMany(path, n, maxPodSets))
	}
	for i := range spec.WorkerGroupSpecs {
		if strings.EqualFold(spec.WorkerGroupSpecs[i].GroupName, headGroup) {
			errs = append(errs, field.Forbidden(path.Index(i).Child("groupName"), fmt.Sprintf("%q is reserved for the head group", headGroup)))
		}
	}
	return errs
}
