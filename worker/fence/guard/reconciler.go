package guard

import (
	"context"
	"fmt"
	"time"

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

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kueue-system,resources=leases,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// confirmTimeout bounds the second look at a lease that has run out: a server that does not answer must not keep jobs running.
const confirmTimeout = 2 * time.Second

// Reconciler stops the jobs of hubs whose lease has run out. A request names a hub's lease, which need not exist.
type Reconciler struct {
	// Client reads from the cache, which has the index of [Setup].
	Client client.Client
	// Live reads from the API server: nothing is stopped on the word of a cache.
	Live     client.Reader
	Recorder events.EventRecorder
	// Clock is the machine's: differences of its times must not depend on how it is set.
	Clock   clock.PassiveClock
	Metrics *Metrics
	memory  stateCache
}

// snapshot is what one look at a hub has found.
type snapshot struct {
	fence.Observation
	// lease is the name of the hub's lease.
	lease string
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
	r.memory.record(req.Name, plan.Next, seen.isRelevant(plan))
	stopped, err := r.stopWorkloads(ctx, seen, plan)
	r.recordEvents(ctx, seen, plan, stopped)
	return kube.RequeueAt(plan.RequeueAt, seen.Now), err
}

// isRelevant tells whether the hub is worth remembering: it has a lease, or something waits for it to have one.
func (s *snapshot) isRelevant(plan fence.Plan) bool { return s.exists || !plan.RequeueAt.IsZero() }

// observe reads the lease and, if it has run out, the jobs that depend on it: while it holds they do not matter, and there
// may be many. If there are any, the lease is read again, from the API server: a hub that comes back renews it first and
// makes Workloads then, but a cache may show these first.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*snapshot, error) {
	s := &snapshot{lease: key.Name, Observation: fence.Observation{Now: r.Clock.Now()}}
	s.remembered, s.Uptime = r.memory.lookup(key.Name, s.Now)
	if err := s.readLease(ctx, r.Client, key); err != nil {
		return s, err
	}
	if !s.remembered.Observe(s.Observation).Expired {
		return s, nil
	}
	if err := r.readJobs(ctx, key, s); err != nil || len(s.Workloads) == 0 {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	if err := s.readLease(ctx, r.Live, key); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "A lease that has run out was not confirmed; going by the cache")
	}
	return s, nil
}

// readLease leaves the sight as it is if it fails.
func (s *snapshot) readLease(ctx context.Context, from client.Reader, key client.ObjectKey) error {
	lease := &coordinationv1.Lease{}
	err := from.Get(ctx, key, lease)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the run lease %s: %w", key.Name, err)
	}
	s.exists, s.Lease = err == nil, readLease(lease)
	return nil
}

// readJobs adds the Workloads that depend on the run lease to the snapshot.
func (r *Reconciler) readJobs(ctx context.Context, key client.ObjectKey, s *snapshot) error {
	var list kueue.WorkloadList
	if err := r.Client.List(ctx, &list, client.MatchingFields{leaseIndex: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the workloads under the run lease %s: %w", key.Name, err)
	}
	for i := range list.Items {
		s.workloads = append(s.workloads, &list.Items[i])
		s.Workloads = append(s.Workloads, fenceWorkload(&list.Items[i]))
	}
	return nil
}

// recordEvents tells of the Workloads that were stopped, and of a lease that runs out or is renewed again.
func (r *Reconciler) recordEvents(ctx context.Context, seen *snapshot, plan fence.Plan, stopped []*kueue.Workload) {
	for _, wl := range stopped {
		kube.RecordEvents(r.Recorder, wl, kube.Event{
			Warning: true, Reason: fence.HubLost, Note: plan.Next.Message(wl.Labels[kueue.MultiKueueOriginLabel]),
		})
	}
	r.Metrics.observe(seen.lease, plan.Next, len(stopped), seen.isRelevant(plan))
	if seen.remembered.Expired != plan.Next.Expired {
		ctrl.LoggerFrom(ctx).Info("The standing of a hub's run lease has changed", "lease", seen.lease, "reason", plan.Next.Reason)
	}
}

// isCacheBehind tells whether a write failed because the cache was behind; the next look has caught up.
func isCacheBehind(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
