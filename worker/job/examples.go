package job

import "sigs.k8s.io/controller-runtime/pkg/client"

// Examples are jobs of a kind as its users and its controller make them: what the kind's declaration is proven by (jobtest.Verify), and what
// a list of kinds asks for before it takes a kind up. Each call returns a new object.
type Examples[T client.Object] struct {
	// Job is a suspended job as the API server stores what a user wrote, with a name, a namespace, a UID, and templates
	// that have labels, annotations, node selectors and tolerations of their own.
	Job func() T
	// Started makes the job's status that of one whose pods are all ready; Suspending is what the kind's own controller
	// makes of it after the job was suspended.
	Started, Suspending func(T)
	// Succeeded and Failed are the two ends; nil for a kind whose jobs do not end.
	Succeeded, Failed func(T)
	// Inputs, required with Kind.Inputs, are the objects that the job names.
	Inputs func() []client.Object
}
