package leaderworkerset

import (
	"context"

	"github.com/hashicorp/go-multierror"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=leaderworkerset.x-k8s.io,resources=leaderworkersets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloadpriorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// reconciler keeps LeaderWorkerSets, their Workloads and their pods together.
type reconciler struct{ serving.Base }

// Reconcile takes one set one step further.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := Step(s.facts)
	noted, err := r.act(ctx, s, plan)
	r.record(ctx, s, noted)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return kube.RequeueAt(plan.RequeueAt, s.facts.Now), nil
}

// record tells the user what was done, and what he has to know.
func (r *reconciler) record(ctx context.Context, s *snapshot, noted []kube.Event) {
	log.FromContext(ctx).V(3).Info("Looked at LeaderWorkerSet", "groups", s.facts.Groups, "workloads", len(s.workloads))
	switch {
	case s.problem.message != "":
		noted = append(noted, kube.Event{Warning: true, Reason: kueue.EventErrWorkloadCompose, Note: s.problem.message})
	case s.problem.classKind == kueue.WorkloadPriorityClassKind: // the public API says nothing of classes of pods
		noted = append(noted, serving.MissingClassEvents(s.problem.class)...)
	}
	if len(noted) > 0 {
		kube.RecordEvents(r.Recorder, s.set, noted...)
	}
}

// act does for pods what has to be done, and carries the plan out. Nothing waits for anything else; what fails is tried again. Pods come
// first: their own reconciler makes the priority class of a Workload that of its pods. It returns the events of what was done.
func (r *reconciler) act(ctx context.Context, s *snapshot, plan Plan) ([]kube.Event, error) {
	var noted []kube.Event
	var failed *multierror.Error
	done := func(err error, events ...kube.Event) {
		if err != nil {
			failed = multierror.Append(failed, err)
			return
		}
		noted = append(noted, events...)
	}
	joinable := s.set
	if !s.facts.Managed {
		joinable = nil
	}
	for _, change := range stepPods(s.podFacts, joinable, r.Options.Gates) {
		done(r.Writer.ChangePod(ctx, change))
	}
	for _, i := range plan.LetGo {
		done(r.Writer.LetGo(ctx, s.workloads[i]))
	}
	for _, i := range plan.Delete {
		done(r.Writer.Delete(ctx, s.workloads[i]), serving.DeletionEvents(s.workloads[i])...)
	}
	for _, i := range plan.Update {
		done(r.Writer.Patch(ctx, s.workloads[i], s.desired[i]), serving.UpdateEvents(s.workloads[i], s.desired[i])...)
	}
	for _, group := range plan.Create {
		made, err := r.createWorkload(ctx, s, group)
		done(err, made...)
		if err != nil || s.facts.Unknown {
			break // so will the others be
		}
	}
	return noted, failed.ErrorOrNil()
}

// createWorkload makes the Workload of one group.
func (r *reconciler) createWorkload(ctx context.Context, s *snapshot, group int) ([]kube.Event, error) {
	wl, err := r.Groups.NewWorkload(ctx, serving.Group{Owner: s.set, Name: groupName(s.set, group), Index: &group, PodSets: s.podSets})
	if err != nil {
		return nil, s.lacksClass(err)
	}
	made, err := r.Writer.Create(ctx, wl, s.set)
	if err != nil || !made {
		return nil, err
	}
	if r.Options.Created != nil && s.set.Generation <= 1 { // what one that has changed since waited for is not known
		r.Options.Created(gvk().Kind, r.Options.Clock.Since(s.set.CreationTimestamp.Time))
	}
	return serving.CreationEvents(wl), nil
}
