// Package trainjob declares the TrainJob of trainer.kubeflow.org/v1alpha1 (contract: job-kinds.md 4). The trainer's Go types do not go with
// the Kubernetes libraries of this program, so that a TrainJob is read field by field and written where it has to be.
package trainjob

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs/status,verbs=patch
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainingruntimes;clustertrainingruntimes,verbs=get;list;watch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:webhook:path=/mutate-trainer-kubeflow-org-v1alpha1-trainjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=trainer.kubeflow.org,resources=trainjobs,verbs=create,versions=v1alpha1,name=mtrainjob.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-trainer-kubeflow-org-v1alpha1-trainjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=trainer.kubeflow.org,resources=trainjobs,verbs=create;update,versions=v1alpha1,name=vtrainjob.kb.io,admissionReviewVersions=v1

// trainJob is a TrainJob as the API server has it.
type trainJob = *unstructured.Unstructured

// group and version of the trainer's API.
const (
	group   = "trainer.kubeflow.org"
	version = "v1alpha1"
)

// ownController is the trainer's name in spec.managedBy.
const ownController = "trainer.kubeflow.org/trainjob-controller"

// advice is where the templates of a TrainJob come from (contract: job-kinds.md 1.4).
const advice = `. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the corresponding Job`

// Kind returns the declaration.
func Kind() job.Kind[*unstructured.Unstructured] {
	gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: "TrainJob"}
	return job.Kind[trainJob]{
		Name:        "trainer.kubeflow.org/trainjob",
		GVK:         gvk,
		AddToScheme: jobsetv1.AddToScheme,
		New:         func() trainJob { return newObject(gvk.Kind) },
		NewList:     newList,

		Inputs:               inputs(),
		Suspended:            suspended,
		SetSuspend:           func(tj trainJob, suspend bool) { set(tj, suspend, "spec", "suspend") },
		Place:                place,
		PlacesSuspended:      true,
		Restore:              func(tj trainJob, _ []kueue.PodSet) { restore(tj) },
		Stop:                 stop,
		Progress:             progress,
		ControllerObserved:   controllerObserved,
		LastControllerUpdate: lastControllerUpdate,
		Webhook: job.Webhook[trainJob]{
			Default:        func(tj trainJob, _ job.Gates) { addPatch(tj) },
			PodSetPath:     func(name kueue.PodSetReference) *field.Path { return field.NewPath("job").Key(string(name)) },
			TemplateAdvice: advice,
		},
		// The pods of the Jobs of the JobSet, whose status, and so the TrainJob's, tells nothing of those that are being terminated.
		PodLabels: func(tj trainJob) map[string]string { return map[string]string{jobsetv1.JobSetNameKey: tj.GetName()} },
		Children:  &job.Children[trainJob]{Watched: func() []client.Object { return []client.Object{&jobsetv1.JobSet{}} }},

		ManagedBy: &job.ManagedBy[trainJob]{
			Path: "spec.managedBy", Default: ownController, Get: manager, Set: setManager,
		},
		CopyStatus: copyStatus,
		Detach:     detach,
		Strip:      strip,
	}
}

// newObject is an empty object of the trainer's API.
func newObject(kind string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	return obj
}

func newList() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: "TrainJobList"})
	return list
}

func suspended(tj trainJob) bool {
	suspend, _, _ := unstructured.NestedBool(tj.Object, "spec", "suspend")
	return suspend
}

// set sets a field. An object in which the field cannot be is left alone.
func set(tj trainJob, value any, path ...string) {
	if tj.Object == nil {
		tj.Object = map[string]any{}
	}
	_ = unstructured.SetNestedField(tj.Object, value, path...)
}

func manager(tj trainJob) string {
	name, _, _ := unstructured.NestedString(tj.Object, "spec", "managedBy")
	return name
}

func setManager(tj trainJob, manager string) {
	if manager == "" {
		unstructured.RemoveNestedField(tj.Object, "spec", "managedBy")
		return
	}
	set(tj, manager, "spec", "managedBy")
}

// progress goes by the status. That every job has one that is ready is all that can be told without the runtime.
func progress(tj trainJob) job.Progress {
	s := readStatus(tj)
	p := job.Progress{Finished: outcome(s), Ready: len(s.JobsStatus) > 0 && !suspended(tj)}
	for _, j := range s.JobsStatus {
		p.Active = p.Active || j.Active > 0
		p.Ready = p.Ready && j.Ready+j.Succeeded > 0
	}
	return p
}

// outcome returns how the TrainJob ended; nil while it has not.
func outcome(s *status) *job.Outcome {
	for _, end := range []string{"Complete", "Failed"} {
		if c := meta.FindStatusCondition(s.Conditions, end); c != nil && c.Status == "True" {
			return &job.Outcome{Success: end == "Complete", Message: c.Message}
		}
	}
	return nil
}

// controllerObserved is false for a resumed TrainJob whose status still has it suspended. A status that is empty tells nothing: a runtime that does
// not exist is enough to keep it so.
func controllerObserved(tj trainJob) bool {
	return suspended(tj) || !meta.IsStatusConditionTrue(readStatus(tj).Conditions, "Suspended")
}

func lastControllerUpdate(tj trainJob) time.Time {
	var latest time.Time
	for _, c := range readStatus(tj).Conditions {
		if c.LastTransitionTime.After(latest) {
			latest = c.LastTransitionTime.Time
		}
	}
	return latest
}

// copyStatus makes the local status like the remote one until the TrainJob has ended: that is never taken back.
func copyStatus(local, remote trainJob) (changed, deferred bool) {
	if outcome(readStatus(local)) != nil || equality.Semantic.DeepEqual(local.Object["status"], remote.Object["status"]) {
		return false, false
	}
	if remote.Object["status"] == nil {
		delete(local.Object, "status")
		return true, false
	}
	local.Object["status"] = runtime.DeepCopyJSONValue(remote.Object["status"])
	return true, false
}

// detach leaves what the user wrote. The other cluster's webhook adds an entry of its own for what is placed, and its trainer says when it
// was written.
func detach(tj trainJob) {
	delete(tj.Object, "status")
	removePatch(tj)
}

// strip drops what makes a cached TrainJob large and no decision reads.
func strip(tj trainJob) {
	for _, name := range []string{"runtimePatches", "trainer", "initializer"} {
		unstructured.RemoveNestedField(tj.Object, "spec", name)
	}
}
