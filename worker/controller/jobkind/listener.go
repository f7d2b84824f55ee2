package jobkind

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/configured"
)

// Listener is told which kinds of job are declared and served, by the program that leads. One method is called at a time, but for
// SetDeclared, which other replicas may call too.
type Listener interface {
	// SetDeclared says which kinds JobKinds declare: all that may be declared, whether accepted and served or not. Before the first call
	// nothing is known of any.
	SetDeclared(kinds []schema.GroupKind)
	// Start says that a kind is about to be served; nothing looks after its jobs yet. What is added to the manager ends with the kind, and
	// jobs that are read through it come from the kind's own cache. After an error the kind is not served, and Stop is not called.
	Start(ctx context.Context, mgr ctrl.Manager, kind job.Integration) error
	// Stop says that a kind is served no more.
	Stop(kind schema.GroupVersionKind)
}

// nobody is the Listener of a program that has none.
type nobody struct{}

func (nobody) SetDeclared([]schema.GroupKind)                             {}
func (nobody) Start(context.Context, ctrl.Manager, job.Integration) error { return nil }
func (nobody) Stop(schema.GroupVersionKind)                               {}

// declaredKinds are the kinds that JobKinds declare, sound or not, each once and sorted. Those that no JobKind may declare are not among them.
func declaredKinds(verdicts []verdict) []schema.GroupKind {
	kinds := make([]schema.GroupKind, 0, len(verdicts))
	for _, v := range verdicts {
		if v.reason == switchyard.JobKindCompiledIn || v.reason == switchyard.JobKindExternal {
			continue
		}
		kinds = append(kinds, schema.GroupKind{Group: v.jobKind.Spec.Group, Kind: v.jobKind.Spec.Kind})
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(kinds)
}

// announcedRunner tells a Listener of the kinds that another runner starts and stops.
type announcedRunner struct {
	runner   *managerRunner
	listener Listener
}

// start implements runner.
func (r announcedRunner) start(ctx context.Context, program *configured.Program) (instance, error) {
	kind, announced := program.Integration(), false
	is, err := r.runner.start(ctx, kind, func(ctx context.Context, mgr ctrl.Manager) error {
		err := r.listener.Start(ctx, mgr, kind)
		announced = err == nil
		return err
	})
	if err != nil {
		if announced {
			r.listener.Stop(program.GVK())
		}
		return nil, err
	}
	return announcedInstance{instance: is, stopped: func() { r.listener.Stop(program.GVK()) }}, nil
}

// announcedInstance is an instance whose end is told.
type announcedInstance struct {
	instance
	stopped func()
}

// stop implements instance. The Listener is told first, so that it reads no cache that has ended.
func (i announcedInstance) stop() {
	i.stopped()
	i.instance.stop()
}
