package statefulset

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-multierror"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloadpriorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// onHoldMessage is the contract's (contract: messages.md 1.2).
const onHoldMessage = "StatefulSet scaled to zero; workload on hold"

// reconciler keeps StatefulSets, their Workloads and their pods together.
type reconciler struct{ serving.Base }

// Reconcile takes one set one step further.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := Step(s.facts)
	noted, err := r.act(ctx, s, plan)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	r.record(ctx, s, plan, noted)
	return kube.RequeueAt(plan.RequeueAt, s.facts.Now), nil
}

// record tells the user what was done, once it has been.
func (r *reconciler) record(ctx context.Context, s *snapshot, plan Plan, noted []kube.Event) {
	log.FromContext(ctx).V(3).Info("Looked at StatefulSet", "because", plan.Reason)
	if len(noted) > 0 {
		kube.RecordEvents(r.Recorder, s.set, noted...)
	}
}

// act does for pods what has to be done, and carries the plan out; neither waits for the other. Pods come first: their own reconciler makes
// the priority class of the Workload that of its pods. It returns the events to record.
func (r *reconciler) act(ctx context.Context, s *snapshot, plan Plan) ([]kube.Event, error) {
	var failed *multierror.Error
	if s.facts.Managed {
		m := membership(s.set, r.workloadName(s))
		for _, change := range stepPods(s.ownPods(), s.replacing, m, r.Options.Gates) {
			failed = multierror.Append(failed, r.Writer.ChangePod(ctx, change))
		}
	}
	noted, err := r.actOnWorkload(ctx, s, plan)
	return noted, multierror.Append(failed, err).ErrorOrNil()
}

// workloadName is the name of the Workload that speaks for the set.
func (r *reconciler) workloadName(s *snapshot) string {
	if s.wl != nil {
		return s.wl.Name
	}
	return r.Groups.WorkloadName(s.set, s.set.Name)
}

func (r *reconciler) actOnWorkload(ctx context.Context, s *snapshot, plan Plan) ([]kube.Event, error) {
	switch plan.Do {
	case DoNothing:
		return s.waitingEvents(plan), nil
	case DoLetGo:
		var failed *multierror.Error
		for _, wl := range s.leftovers {
			failed = multierror.Append(failed, r.Writer.LetGo(ctx, wl))
		}
		return nil, failed.ErrorOrNil()
	case DoCreate:
		return r.createWorkload(ctx, s)
	case DoUpdate:
		return serving.UpdateEvents(s.wl, s.desired), r.Writer.Patch(ctx, s.wl, s.desired)
	case DoHold:
		return nil, r.holdWorkload(ctx, s)
	case DoResume:
		wl := s.wl.DeepCopy()
		workload.Resume(wl, s.facts.Now)
		return nil, r.Writer.ApplyAdmission(ctx, wl)
	case DoDelete:
		return serving.DeletionEvents(s.wl), r.Writer.Delete(ctx, s.wl)
	}
	panic(fmt.Sprintf("plan without action: %d", plan.Do))
}

// waitingEvents are for a set that only the user can bring further.
func (s *snapshot) waitingEvents(plan Plan) []kube.Event {
	if plan.Reason != ClassMissing || s.missing.kind != kueue.WorkloadPriorityClassKind {
		return nil
	}
	return serving.MissingClassEvents(s.missing.name)
}

func (r *reconciler) createWorkload(ctx context.Context, s *snapshot) ([]kube.Event, error) {
	made, err := r.Writer.Create(ctx, s.desired, s.set)
	if err != nil || !made {
		return nil, err
	}
	if r.Options.Created != nil && s.set.Generation <= 1 { // what one that has changed since waited for is not known
		r.Options.Created(gvk().Kind, r.Options.Clock.Since(s.set.CreationTimestamp.Time))
	}
	return serving.CreationEvents(s.desired), nil
}

func (r *reconciler) holdWorkload(ctx context.Context, s *snapshot) error {
	wl := s.wl.DeepCopy()
	if !workload.Hold(wl, onHoldMessage, s.facts.Now) {
		return nil
	}
	if s.facts.Reserved && r.Options.WaitForPodsReady {
		workload.SetPodsNotReady(wl, s.facts.Now)
	}
	return r.Writer.ApplyAdmission(ctx, wl)
}
