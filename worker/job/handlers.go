package job

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Handlers are the webhooks of one kind, for a server that finds the kind in the request.
type Handlers struct {
	// Default completes new jobs, Validate judges them and their changes.
	Default, Validate admission.Handler
}

// NewHandlers returns the webhooks of a kind of objects without a Go type. The reader has a cache; live asks the API server.
func NewHandlers[T client.Object](kind Kind[T], reader, live client.Reader, o Options) Handlers {
	return (&webhook[T]{kind: kind, opts: o, reader: reader, live: live, enabled: true}).handlers()
}

// handlers are the webhook's handlers of requests for objects without a Go type.
func (h *webhook[T]) handlers() Handlers {
	scheme := runtime.NewScheme() // objects without a Go type are decoded without one
	return Handlers{Default: admission.WithDefaulter(scheme, h).Handler, Validate: admission.WithValidator(scheme, h).Handler}
}
