package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Elastic declares how a job of the kind may be scaled while it runs.
type Elastic[T client.Object] struct {
	// Gated tells whether all pods that the job's controller makes for its pod sets wait for the gate of elastic jobs. A job that runs
	// without is not elastic, whatever it says: nothing would hold its new pods back.
	Gated func(T) bool
	// Ungated are pod sets whose pods never wait.
	Ungated []kueue.PodSetReference
	// ScaledBy, optional, is the child of a running job in whose spec an autoscaler says how many pods there are to be: an empty object with
	// name and namespace, nil if the job is not scaled in that way or has no such child yet.
	ScaledBy func(T) client.Object
	// Sizes, required with ScaledBy, are how many pods that child asks for, by pod set. A pod set that is not among them is as large as the
	// job says.
	Sizes func(child client.Object) map[kueue.PodSetReference]int64
	// Resize, optional, makes a job on another cluster ask for so many pods as the pod sets say, which are those of the local job or have been,
	// and tells whether it changes anything. Jobs of kinds without it start over there when they are scaled.
	Resize func(local, remote T, sets []kueue.PodSet) bool
	// sizes are how many pods the job asks for, by pod set.
	sizes func(T) []int64
}

// ElasticTemplates declares a kind that is elastic if all of its pod templates are gated, but for those of the named pod sets.
func ElasticTemplates[T client.Object](templates func(T) []Template, ungated ...kueue.PodSetReference) *Elastic[T] {
	sizes := func(job T) []int64 {
		var list []int64
		for _, t := range templates(job) {
			list = append(list, t.Count)
		}
		return list
	}
	return &Elastic[T]{Ungated: ungated, sizes: sizes, Gated: func(job T) bool {
		return !slices.ContainsFunc(templates(job), func(t Template) bool {
			return !slices.Contains(ungated, PodSetName(t.Name)) && !IsElasticallyGated(t.Pod)
		})
	}}
}

// ResizableTemplates is ElasticTemplates for a kind whose jobs on other clusters can be resized.
func ResizableTemplates[T client.Object](templates func(T) []Template, resize func(local, remote T, sets []kueue.PodSet) bool) *Elastic[T] {
	e := ElasticTemplates(templates)
	e.Resize = resize
	return e
}

// IsElasticallyGated tells whether the pods of a template wait for the gate of elastic jobs.
func IsElasticallyGated(t *corev1.PodTemplateSpec) bool {
	return slices.Contains(t.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: kueue.ElasticJobSchedulingGate})
}

// GateElastically has the pods of a template wait for the gate of elastic jobs.
func GateElastically(t *corev1.PodTemplateSpec) {
	if !IsElasticallyGated(t) {
		t.Spec.SchedulingGates = append(t.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: kueue.ElasticJobSchedulingGate})
	}
}
