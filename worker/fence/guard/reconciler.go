package guard

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kueue-system,resources=leases,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update

// Reconciler stops the jobs of hubs whose lease has run out. A request names a hub's lease, which need not exist.
type Reconciler struct {
	// Client reads from the cache, which has the index of [Setup].
	Client   client.Client
	Recorder events.EventRecorder
	// Clock is the machine's: differences of its times must not depend on how it is set.
	Clock   clock.PassiveClock
	Metrics *Metrics
	memory  memory
}

// sight is what one look at a hub has found.
type sight struct {
	fence.Observation
	// remembered is from the looks before.
	remembered fence.State
	// workloads are those of Observation.Jobs, in the same order. They are the cache's own and must not be changed.
	workloads []*kueue.Workload
	// exists tells that there is a Lease object.
	exists bool
}

// Reconcile looks at one hub.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := fence.Step(seen.remembered, seen.Observation)
	worth := seen.exists || !plan.WakeAt.IsZero()
	was := r.memory.keep(req.Name, plan.Next, worth)
	stopped, err := r.act(ctx, seen, plan)
	r.record(ctx, req.Name, was, plan, stopped, worth)
	return kube.Wake(plan.WakeAt, seen.Now), err
}

// observe reads the lease and, if it has run out, the jobs that depend on it: while it holds they do not matter, and there
// may be many.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (sight, error) {
	s := sight{Observation: fence.Observation{Now: r.Clock.Now()}}
	s.remembered, s.Uptime = r.memory.recall(key.Name, s.Now)
	lease := &coordinationv1.Lease{}
	err := r.Client.Get(ctx, key, lease)
	if client.IgnoreNotFound(err) != nil {
		return s, fmt.Errorf("read the run lease %s: %w", key.Name, err)
	}
	if s.exists = err == nil; s.exists {
		s.Lease = renewal(lease)
	}
	if !s.remembered.Look(s.Observation).Out {
		return s, nil
	}
	var list kueue.WorkloadList
	if err := r.Client.List(ctx, &list, client.MatchingFields{byLease: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return s, fmt.Errorf("list the workloads under the run lease %s: %w", key.Name, err)
	}
	for i := range list.Items {
		s.workloads = append(s.workloads, &list.Items[i])
		s.Jobs = append(s.Jobs, jobOf(&list.Items[i]))
	}
	return s, nil
}

// record tells of the Workloads that were stopped, and of a lease that runs out or is renewed again.
func (r *Reconciler) record(ctx context.Context, lease string, was fence.State, plan fence.Plan, stopped []*kueue.Workload, worth bool) {
	for _, wl := range stopped {
		kube.Record(r.Recorder, wl, kube.Event{
			Warning: true, Reason: fence.HubLost, Note: plan.Next.Message(wl.Labels[kueue.MultiKueueOriginLabel]),
		})
	}
	r.Metrics.observe(lease, plan.Next, len(stopped), worth)
	if was.Out != plan.Next.Out {
		ctrl.LoggerFrom(ctx).Info("The standing of a hub's run lease has changed", "lease", lease, "reason", plan.Next.Because)
	}
}

// behind tells whether a write failed because the cache was behind; the next look has caught up.
func behind(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
