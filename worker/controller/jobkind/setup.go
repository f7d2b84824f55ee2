package jobkind

import (
	"context"
	"fmt"
	"math"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

// Options are what the composition root tells.
type Options struct {
	// Jobs are those of every kind of job; of configured ones, too.
	Jobs job.Options
	// BuiltIn are the kinds that are compiled in, enabled or not, and External those that other programs manage.
	BuiltIn, External []schema.GroupVersionKind
	// Clock is the source of now.
	Clock clock.PassiveClock
	// Listener, optional, is told which kinds are declared and served.
	Listener Listener
}

// Kinds are the kinds of job that JobKinds declare.
type Kinds struct {
	options Options
	running runningKinds
}

// New returns Kinds of which none is served yet.
func New(o Options) *Kinds {
	if o.Listener == nil {
		o.Listener = nobody{}
	}
	return &Kinds{options: o}
}

// Serves tells whether jobs of the kind are looked after.
func (k *Kinds) Serves(kind schema.GroupKind) bool { return k.running.serves(kind) }

// Names are the kinds that are served, each as Kind.version.group.
func (k *Kinds) Names() []string { return k.running.names() }

// Setup adds the webhooks to the manager's server, and the controllers.
func (k *Kinds) Setup(mgr ctrl.Manager) error {
	hooks := k.newRegistry(mgr)
	server := mgr.GetWebhookServer()
	server.Register(DefaultPath, &webhook.Admission{Handler: hooks.handler(func(h job.Handlers) admission.Handler { return h.Default })})
	server.Register(ValidatePath, &webhook.Admission{Handler: hooks.handler(func(h job.Handlers) admission.Handler { return h.Validate })})
	return k.setupControllers(mgr, hooks)
}

// SetupControllers adds the controllers alone, for a program whose webhooks are not served.
func (k *Kinds) SetupControllers(mgr ctrl.Manager) error {
	return k.setupControllers(mgr, k.newRegistry(mgr))
}

func (k *Kinds) newRegistry(mgr ctrl.Manager) *registry {
	return &registry{client: mgr.GetClient(), live: mgr.GetAPIReader(), options: k.options.Jobs, taken: k.isTaken}
}

// setupControllers adds the controllers once the API server serves JobKinds.
func (k *Kinds) setupControllers(mgr ctrl.Manager, hooks *registry) error {
	none := func() { k.options.Listener.SetDeclared(nil) }
	return mgr.Add(&waitingSetup{mapper: mgr.GetRESTMapper(), none: none, setup: func() error {
		if err := setupRegistry(mgr, hooks); err != nil {
			return err
		}
		return k.setupReconciler(mgr)
	}})
}

// isTaken tells why no JobKind may declare a kind; nothing if one may.
func (k *Kinds) isTaken(gvk schema.GroupVersionKind) (reason, message string) {
	for _, builtIn := range k.options.BuiltIn {
		if builtIn.GroupKind() == gvk.GroupKind() {
			return switchyard.JobKindCompiledIn, fmt.Sprintf("%s is compiled in: name it in integrations.frameworks", gvk.GroupKind())
		}
	}
	for _, external := range k.options.External {
		if external.GroupKind() == gvk.GroupKind() {
			return switchyard.JobKindExternal, fmt.Sprintf("%s is an external framework: another program looks after its jobs", gvk.GroupKind())
		}
	}
	return "", ""
}

// waitingSetup adds the controllers once JobKinds are served. Every replica does so: each serves webhooks.
type waitingSetup struct {
	mapper meta.RESTMapper
	// none is called when it is known that there can be no JobKinds.
	none  func()
	setup func() error
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*waitingSetup) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *waitingSetup) Start(ctx context.Context) error {
	backoff := wait.Backoff{Duration: retryFirst, Factor: 2, Cap: retryLast, Steps: math.MaxInt32}
	err := backoff.DelayFunc().Until(ctx, true, true, func(context.Context) (bool, error) {
		_, err := w.mapper.RESTMapping(switchyard.GroupVersion.WithKind("JobKind").GroupKind(), switchyard.GroupVersion.Version)
		if meta.IsNoMatchError(err) {
			log.FromContext(ctx).V(1).Info("JobKinds are not installed in this cluster")
			w.none()
		}
		return err == nil, nil
	})
	if err != nil {
		return nil //nolint:nilerr // the program stops before JobKinds have come
	}
	return w.setup()
}

// setupRegistry adds the controller that keeps the webhooks of every replica.
func setupRegistry(mgr ctrl.Manager, hooks *registry) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("jobkind_webhooks").
		Watches(&switchyard.JobKind{}, enqueueAll(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Func(enqueueOnce)).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true), NeedLeaderElection: ptr.To(false)}).
		Complete(hooks)
	if err != nil {
		return fmt.Errorf("set up the webhooks of JobKinds: %w", err)
	}
	return nil
}

// setupReconciler adds the controller of JobKinds, and what stops all kinds with the program.
func (k *Kinds) setupReconciler(mgr ctrl.Manager) error {
	failures := make(chan event.GenericEvent, 1)
	r := &reconciler{
		client: mgr.GetClient(), mapper: mgr.GetRESTMapper(), clock: k.options.Clock, taken: k.isTaken, dispatches: k.options.Jobs.Dispatches,
		webhooks: &webhookRules{client: mgr.GetClient()}, running: &k.running,
		listener: k.options.Listener,
		runner: announcedRunner{listener: k.options.Listener, runner: &managerRunner{mgr: mgr, options: k.options.Jobs, indexes: &sharedIndexes{}, changed: func() {
			select {
			case failures <- event.GenericEvent{Object: &switchyard.JobKind{}}:
			default: // one is on its way already
			}
		}}},
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("jobkind").
		Watches(&switchyard.JobKind{}, enqueueAll(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, enqueueAll(), builder.WithPredicates(named(ownMutating, builtInMutating))).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, enqueueAll(), builder.WithPredicates(named(ownValidating, builtInValidating))).
		WatchesRawSource(source.Channel(failures, enqueueAll())).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of JobKinds: %w", err)
	}
	return mgr.Add(stopper{&k.running})
}

// stopper stops all kinds with the program.
type stopper struct{ running *runningKinds }

// Start implements manager.Runnable.
func (s stopper) Start(ctx context.Context) error {
	<-ctx.Done()
	s.running.stopAll()
	return nil
}

// enqueueOnce asks for a look when the controller starts: where there are no JobKinds no event does.
func enqueueOnce(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	queue.Add(everything())
	return nil
}

// everything is the one request there is.
func everything() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: "all"}}
}

// enqueueAll has every event ask for a look at all JobKinds.
func enqueueAll() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{everything()}
	})
}

// named lets events of objects with these names pass.
func named(names ...string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool {
		for _, name := range names {
			if obj.GetName() == name {
				return true
			}
		}
		return false
	})
}
