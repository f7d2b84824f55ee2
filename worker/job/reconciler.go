package job

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloadpriorityclasses;localqueues;clusterqueues;admissionchecks,verbs=get;list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=resourceflavors,verbs=list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// reconciler keeps the jobs of one kind and their Workloads together.
type reconciler[T client.Object] struct {
	kind            Kind[T]
	opts            Options
	client          client.Client
	live            client.Reader
	recorder        events.EventRecorder
	composer        composer[T]
	writer          *writer
	watches         *watches[T]
	orphans         *orphanFinisher[T]
	waitingForClass jobsByClass
}

// Reconcile takes one job one step further (contract: kueue-api.md 3.1).
func (r *reconciler[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.waitingForClass.remove(req.NamespacedName)
	r.trustSlice(ctx, s)
	plan := Step(s.facts)
	events, err := r.executePlan(ctx, s, plan)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	r.recordEvents(ctx, s, plan, events)
	if plan.Reason == PriorityClassNotFound {
		if came, err := r.waitingForClass.await(ctx, r.composer.reader, req.NamespacedName, s.missingClass); came || err != nil {
			return ctrl.Result{RequeueAfter: conflictDelay}, err
		}
	}
	return kube.RequeueAt(plan.RequeueAt, s.facts.Now), nil
}

// newReader reads from the cache, and live what that does not have.
func (r *reconciler[T]) newReader() fallbackReader {
	return fallbackReader{Reader: r.client, live: r.live}
}

// recordEvents records the events that a plan has caused, once its write has been made.
func (r *reconciler[T]) recordEvents(ctx context.Context, s *snapshot[T], plan Plan, events []kube.Event) {
	log.FromContext(ctx).V(3).Info("Looked at job", "do", plan.Do.String(), "because", plan.Reason)
	if len(events) > 0 {
		kube.RecordEvents(r.recorder, s.job, events...)
	}
}
