package kubeflow

import (
	"slices"
	"strings"
	"time"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// variety is in what the kinds differ.
type variety[T client.Object] struct {
	// kind is the name of the kind, and field that of the field below spec that has its replicas.
	kind, field string
	// types are those of the replicas, in the order of the pod sets.
	types   []kubeflow.ReplicaType
	newJob  func() T
	newList func() client.ObjectList
	// parts returns what all kinds have, where it stands in the job.
	parts func(T) parts
}

// parts are what jobs of all kinds have.
type parts struct {
	policy   *kubeflow.RunPolicy
	replicas *map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec
	status   *kubeflow.JobStatus
}

// declare returns the declaration of one kind.
func (v variety[T]) declare() job.Kind[T] {
	return job.FromTemplates(job.Kind[T]{
		Name:        "kubeflow.org/" + strings.ToLower(v.kind),
		GVK:         kubeflow.GroupVersion.WithKind(v.kind),
		AddToScheme: v.addToScheme,
		New:         v.newJob,
		NewList:     v.newList,

		Suspended:            func(j T) bool { return v.parts(j).suspended() },
		SetSuspend:           func(j T, suspend bool) { v.parts(j).policy.Suspend = &suspend },
		Progress:             func(j T) job.Progress { return v.parts(j).said().Progress() },
		ControllerObserved:   func(j T) bool { return v.parts(j).said().ControllerObserved() },
		LastControllerUpdate: func(j T) time.Time { return v.parts(j).said().LastUpdate() },
		PodLabels:            func(j T) map[string]string { return v.podLabels(j.GetName()) },
		Priority:             func(j T) string { return v.parts(j).priorityClass() },
		Webhook:              job.Webhook[T]{ChangesFirst: true, PairsFree: true},

		ManagedBy: job.ManagedByField("spec.managedBy", // as the public API calls it
			kubeflow.KubeflowJobsController, func(j T) **string { return &v.parts(j).policy.ManagedBy }),
		CopyStatus: job.StatusCopier(
			func(j T) *kubeflow.JobStatus { return v.parts(j).status },
			func(j T) bool { return v.parts(j).said().Outcome() != nil },
		),
		Detach: func(j T) { v.parts(j).detach() },
		Strip:  func(j T) { v.parts(j).strip() },
	}, func(j T) []job.Template { return v.templates(*v.parts(j).replicas) })
}

// addToScheme registers the types without the operator's functions for defaults: those panic on replicas that are null.
func (v variety[T]) addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(kubeflow.GroupVersion, v.newJob(), v.newList())
	metav1.AddToGroupVersion(s, kubeflow.GroupVersion)
	return nil
}

// podLabels are those of the pods that the operator makes for the job of that name.
func (v variety[T]) podLabels(name string) map[string]string {
	return map[string]string{kubeflow.JobNameLabel: name, kubeflow.OperatorNameLabel: strings.ToLower(v.kind) + "-controller"}
}

// templates are those of the replicas of known types. The operator reads the name of a type in whatever case. If it is there twice, so is
// the pod set, and the job is refused: which of them counts is up to the operator.
func (v variety[T]) templates(replicas map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec) []job.Template {
	var list []job.Template
	for _, known := range v.types {
		for _, name := range spellings(replicas, known) {
			path := field.NewPath("spec", v.field).Key(string(name))
			list = append(list, job.Template{
				Name: string(known), Count: int64(ptr.Deref(replicas[name].Replicas, 1)), Pod: &replicas[name].Template,
				Path: path, Metadata: path.Child("template", "metadata"),
			})
		}
	}
	return list
}

// spellings are the names under which there are replicas of the type.
func spellings(replicas map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec, known kubeflow.ReplicaType) []kubeflow.ReplicaType {
	var names []kubeflow.ReplicaType
	for name, spec := range replicas {
		if spec != nil && strings.EqualFold(string(name), string(known)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p parts) suspended() bool { return ptr.Deref(p.policy.Suspend, false) }

// priorityClass names the class of the whole job; empty if only its pods have one.
func (p parts) priorityClass() string {
	if p.policy.SchedulingPolicy == nil {
		return ""
	}
	return p.policy.SchedulingPolicy.PriorityClass
}

// detach leaves what the user wrote. A finished copy must not vanish before its result is known; its maker deletes it.
func (p parts) detach() {
	p.policy.TTLSecondsAfterFinished = nil
	*p.status = kubeflow.JobStatus{}
}

// strip drops the pod templates of a cached job, which no decision reads.
func (p parts) strip() {
	for _, spec := range *p.replicas {
		if spec != nil {
			spec.Template = corev1.PodTemplateSpec{}
		}
	}
}
