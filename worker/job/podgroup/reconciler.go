package podgroup

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/plan"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/finalizers,verbs=update
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloadpriorityclasses;admissionchecks,verbs=get;list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=resourceflavors,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=limitranges,verbs=list;watch
// +kubebuilder:rbac:groups=node.k8s.io,resources=runtimeclasses,verbs=list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// reconciler keeps pods, alone and in groups, and their Workloads together.
type reconciler struct {
	opts     job.Options
	client   client.Client
	pods     client.Reader
	live     client.Reader
	recorder events.EventRecorder
	composer job.Composer[*corev1.Pod]
	writer   *job.Writer
	pending  *pendingWrites
	warned   *warnings
	waiting  job.ClassWaiters
}

// newReconciler returns a reconciler that reads pods from one cache, everything else with a client, and live what a cache cannot tell.
// The recorder is set by its caller.
func newReconciler(o job.Options, c client.Client, pods, live client.Reader) *reconciler {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &reconciler{
		opts: o, client: c, pods: pods, live: live, writer: job.NewWriter(c, o.Clock), pending: newPendingWrites(), warned: newWarnings(),
	}
	r.composer = job.NewComposer(&job.Kind[*corev1.Pod]{GVK: podmeta.GVK()}, &r.opts, job.NewReader(c, live))
	return r
}

// Reconcile takes the pods of one Workload one step further.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, parseRequest(req))
	if err != nil {
		return ctrl.Result{}, err
	}
	r.waiting.Remove(req.NamespacedName)
	p := plan.Step(s.facts)
	log.FromContext(ctx).V(3).Info("Looked at pods", "pods", len(s.pods), "do", p.Do.String(), "changes", len(p.Pods), "because", p.Reason)
	rest, err := r.act(ctx, s, p)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: job.ConflictDelay}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	r.warn(req, s, p)
	if p.Reason == plan.PriorityClassNotFound {
		if came, err := r.waiting.Await(ctx, r.client, req.NamespacedName, s.missing); came || err != nil {
			return ctrl.Result{RequeueAfter: job.ConflictDelay}, err
		}
	}
	if rest {
		return ctrl.Result{RequeueAfter: time.Nanosecond}, nil
	}
	return kube.RequeueAt(p.RequeueAt, s.facts.Now), nil
}
