package runner

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// Setup adds the controllers of a check to a manager. They run on the leader only.
func Setup[O any](ctx context.Context, mgr ctrl.Manager, resolver Resolver[O]) error {
	if err := Index(ctx, mgr.GetFieldIndexer(), resolver.Controller); err != nil {
		return err
	}
	workloads := &WorkloadReconciler[O]{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder(resolver.Controller), Clock: clock.RealClock{}, Resolver: resolver,
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(resolver.Name+"_workload").
		For(&kueue.Workload{}, builder.WithPredicates(needsCheckPredicate())).
		Watches(&kueue.AdmissionCheck{}, handler.EnqueueRequestsFromMapFunc(workloads.requestsForCheck),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controllerOptions()).
		Build(workloads)
	if err != nil {
		return fmt.Errorf("controller of workloads: %w", err)
	}
	wakes := &watchStarter{
		objects: resolver.RecheckOn, watch: func(o client.Object) error {
			return c.Watch(source.Kind(mgr.GetCache(), o, handler.EnqueueRequestsFromMapFunc(workloads.requestsInNamespace)))
		},
	}
	return setupCheckController(mgr, resolver, wakes)
}

func setupCheckController[O any](mgr ctrl.Manager, resolver Resolver[O], wakes *watchStarter) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named(resolver.Name+"_admissioncheck").
		For(&kueue.AdmissionCheck{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controllerOptions()).
		Complete(&CheckReconciler{
			Client: mgr.GetClient(), Clock: clock.RealClock{},
			Controller: resolver.Controller, Condition: conditionOnceWatched(wakes, resolver.Validate),
		})
	if err != nil {
		return fmt.Errorf("controller of admission checks: %w", err)
	}
	return nil
}

// conditionOnceWatched begins to watch what the Workloads of a check wait for before the check is said to be active.
func conditionOnceWatched(watches *watchStarter, validate func(*kueue.AdmissionCheck) *CheckFault) func(context.Context, *kueue.AdmissionCheck) (metav1.Condition, error) {
	return func(_ context.Context, check *kueue.AdmissionCheck) (metav1.Condition, error) {
		if err := watches.startAll(); err != nil {
			return metav1.Condition{}, fmt.Errorf("watch what it waits for: %w", err)
		}
		return activeCondition(validate(check)), nil
	}
}

// controllerOptions make Workloads come one at a time, whatever the configuration says of their kind, since an answer to one may
// depend on the answer to another. They let several programs be served by one process, as tests do.
func controllerOptions() ctrlcontroller.Options {
	skip := true
	return ctrlcontroller.Options{MaxConcurrentReconciles: 1, SkipNameValidation: &skip}
}

// needsCheckPredicate passes what a check has, or had until now, a say about: the end of a concern too, so that nothing is
// remembered longer than needed.
func needsCheckPredicate() predicate.Predicate {
	is := func(o client.Object) bool {
		wl, ok := o.(*kueue.Workload)
		return ok && needsCheck(wl)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return is(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return is(e.ObjectOld) || is(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return is(e.Object) },
	}
}

// watchStarter begins to watch what Workloads wait for, once.
type watchStarter struct {
	mu      sync.Mutex
	objects []client.Object
	watch   func(client.Object) error
}

// startAll may be called again: what failed is tried again, what is watched is not watched twice.
func (w *watchStarter) startAll() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.objects) > 0 {
		if err := w.watch(w.objects[0]); err != nil {
			return err
		}
		w.objects = w.objects[1:]
	}
	return nil
}

// requestsInNamespace lists the Workloads in the namespace of an object for which an answer is still sought.
func (r *WorkloadReconciler[O]) requestsInNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	checks, err := listCheckNames(ctx, r.Client, r.Resolver.Controller)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Wake workloads")
		return nil
	}
	var requests []reconcile.Request
	for _, check := range checks {
		requests = append(requests, r.listRequests(ctx, check, kueue.CheckStatePending, client.InNamespace(o.GetNamespace()))...)
	}
	return requests
}

// requestsForCheck lists the Workloads that wait for an AdmissionCheck.
func (r *WorkloadReconciler[O]) requestsForCheck(ctx context.Context, check client.Object) []reconcile.Request {
	return r.listRequests(ctx, check.GetName(), kueue.CheckStatePending)
}

func (r *WorkloadReconciler[O]) listRequests(ctx context.Context, check string, state kueue.CheckState, o ...client.ListOption) []reconcile.Request {
	list := &kueue.WorkloadList{}
	o = append(o, client.UnsafeDisableDeepCopy, client.MatchingFields{indexName(r.Resolver.Controller): indexValue(check, state)})
	if err := r.Client.List(ctx, list, o...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of a check", "check", check)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
