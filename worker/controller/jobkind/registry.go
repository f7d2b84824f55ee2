package jobkind

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

// registry has the webhooks of all kinds whose JobKinds are accepted. Every replica of the program has one, as each serves webhooks.
type registry struct {
	client   client.Client
	live     client.Reader
	options  job.Options
	taken    taken
	compiler compiler
	// handlers are nil until the JobKinds are known.
	handlers atomic.Pointer[map[schema.GroupVersionKind]job.Handlers]
}

// Reconcile looks at all JobKinds.
func (r *registry) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var all switchyard.JobKindList
	if err := r.client.List(ctx, &all); err != nil {
		return ctrl.Result{}, fmt.Errorf("list JobKinds: %w", err)
	}
	handlers := map[schema.GroupVersionKind]job.Handlers{}
	for _, v := range r.compiler.resolve(all.Items, r.taken) {
		if v.program != nil {
			handlers[v.program.GVK()] = job.NewHandlers(v.program.Kind(), r.client, r.live, r.options)
		}
	}
	r.handlers.Store(&handlers)
	return ctrl.Result{}, nil
}

var errStarting = errors.New("the program is starting, and does not know yet which kinds of job are declared")

// handler answers for all kinds. What no JobKind declares any more is let in: there is nothing to say about it.
func (r *registry) handler(of func(job.Handlers) admission.Handler) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
		handlers := r.handlers.Load()
		if handlers == nil {
			return admission.Errored(http.StatusServiceUnavailable, errStarting)
		}
		known, found := (*handlers)[schema.GroupVersionKind(req.Kind)]
		if !found {
			return admission.Allowed("")
		}
		return of(known).Handle(ctx, req)
	})
}
