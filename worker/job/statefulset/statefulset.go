// Package statefulset declares the StatefulSet of apps/v1, and keeps its Workload and its pods in step with it: all pods of a set are
// admitted together, as a group that serves (contract: job-kinds.md 12).
package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// Name is the name of the framework.
const Name = "statefulset"

// podSetName is the name of the one pod set.
const podSetName = "main"

// A StatefulSet of this component keeps pods of one Tekton run on one node. Those pods wait for it, and would wait for quota twice
// (contract: job-kinds.md 16.3).
const (
	componentLabel    = "app.kubernetes.io/component"
	affinityAssistant = "affinity-assistant"
)

func gvk() schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind("StatefulSet") }

// Kind returns the declaration.
func Kind() serving.Kind[*appsv1.StatefulSet] {
	return serving.Kind[*appsv1.StatefulSet]{
		Name:          Name,
		GVK:           gvk(),
		AddToScheme:   appsv1.AddToScheme,
		New:           func() *appsv1.StatefulSet { return &appsv1.StatefulSet{} },
		NewList:       func() client.ObjectList { return &appsv1.StatefulSetList{} },
		ReadyReplicas: func(s *appsv1.StatefulSet) int32 { return s.Status.ReadyReplicas },
		Ignores:       ignores,
		Mark:          func(s *appsv1.StatefulSet, _ job.Gates) { serving.MarkTemplate(&s.Spec.Template, Name) },
		Validate:      validate,
		Start:         start,
	}
}

// Framework is the kind for callers that deal with all kinds.
func Framework() serving.Framework[*appsv1.StatefulSet] { return serving.NewFramework(Kind()) }

// ignores tells of sets whose pods another framework admits, and of Tekton's.
func ignores(s *appsv1.StatefulSet) bool {
	if s.Labels[componentLabel] == affinityAssistant {
		return true
	}
	parent, marked := s.Spec.Template.Annotations[kueue.PodSuspendingParentAnnotation]
	return marked && parent != Name
}

// isMarked tells whether the pods of a set wait because of this package.
func isMarked(s *appsv1.StatefulSet) bool {
	return !ignores(s) && serving.BelongsTo(&s.Spec.Template, Name)
}

func templates(s *appsv1.StatefulSet) []*corev1.PodTemplateSpec {
	return []*corev1.PodTemplateSpec{&s.Spec.Template}
}

// replicas is how many pods the set asks for.
func replicas(s *appsv1.StatefulSet) int32 { return max(ptr.Deref(s.Spec.Replicas, 1), 0) }
