package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/capacity"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
)

// FencedCondition is the condition of a MultiKueueCluster that says whether its fence stops the jobs of a hub that it
// misses. It is absent as long as no policy has asked for that. After a restart of the hub it is what is known of a cluster out of reach.
const FencedCondition = "switchyard.dev/Fenced"

// The reasons of FencedCondition.
const (
	reasonFenced          = "Fenced"
	reasonNoFence         = "NoFence"
	reasonLeaseNotRenewed = "LeaseNotRenewed"
	fencedMessage         = "The cluster stops this hub's jobs when the run lease runs out"
	noLeaseMessage        = "The run lease cannot be renewed there; jobs are not stamped to be stopped: "
	noFenceMessage        = "Nothing there stops this hub's jobs when the run lease runs out: "
)

// FencingReconciler keeps the condition FencedCondition. It has no other writer.
type FencingReconciler struct {
	Client client.Client
	Fleet  *fleet.Fleet
	Clock  clock.PassiveClock

	writes kube.WriteTracker
}

// Reconcile writes the condition of one cluster if it has changed. An attempt that has not ended says nothing: what the program
// before this one has seen stays.
func (r *FencingReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	state, ok := r.Fleet.State(req.Name)
	cluster := &kueue.MultiKueueCluster{}
	if err := r.Client.Get(ctx, req.NamespacedName, cluster); err != nil || !ok || !state.Fencing.HasResult() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	next := cluster.DeepCopy()
	condition := fencedCondition(state.Fencing)
	condition.ObservedGeneration = cluster.Generation
	condition.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	meta.SetStatusCondition(&next.Status.Conditions, condition)
	switch _, err := r.writes.PatchStatus(ctx, r.Client, cluster, next, r.Clock.Now()); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("report the fencing of MultiKueueCluster %s: %w", cluster.Name, err)
	}
	return ctrl.Result{}, nil
}

func fencedCondition(f fleet.Fencing) metav1.Condition {
	condition := metav1.Condition{Type: FencedCondition, Status: metav1.ConditionFalse}
	switch {
	case !f.Held || f.Expired:
		condition.Reason, condition.Message = reasonLeaseNotRenewed, noLeaseMessage+f.Message
	case !f.FenceAlive:
		condition.Reason, condition.Message = reasonNoFence, noFenceMessage+f.Message
	default:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, reasonFenced, fencedMessage
	}
	condition.Message = kube.Truncate(condition.Message, kube.MaxConditionMessage)
	return condition
}

// setFenceStatus says of a cluster whether a job there is stopped without the hub, and until when it may believe in the hub. What
// this program has not looked at itself is as the one before it has left it.
func setFenceStatus(v *dispatch.ClusterView, f fleet.Fencing, left clusterInfo) {
	v.Fence.RenewedAt = f.RenewedAt
	is := f.Held && f.FenceAlive
	if !f.RenewalStarted {
		is = left.fenced
	}
	v.Fence.Alive = is && (v.Copy.Holder != dispatch.Ours || v.Copy.StopsOnHubLost)
}

// setLeaseState says whether a fence leaves alone what bears the stamp Stop, as jobs of some kinds never do: the hub's lease is renewed, or
// nobody goes by it. A worker that does not let us look for a fence has one if it reports its capacity, as no other program does.
func (r *WorkloadReconciler) setLeaseState(v *dispatch.ClusterView, kind job.Integration, f fleet.Fencing, now time.Time) {
	reports := func() bool {
		return r.Fleet.GetFresh(v.Name, capacity.ReportGVK(), client.ObjectKey{Name: switchyard.CapacityReportName}) != nil
	}
	switch {
	case !supportsFencing(kind), f.Held && now.Before(f.ExpiresAt), f.FencePresence == fleet.FenceMissing, f.FencePresence == fleet.FenceUnknown && f.HasResult() && !reports():
		return
	case f.Expired:
		v.Fence.Lease = dispatch.LeaseLapsed
	default:
		v.Fence.Lease = dispatch.LeaseAwaited
	}
	v.Fence.LeaseTrouble = strings.ReplaceAll(f.Message, "\n", "; ")
}

// mayStampStop tells whether objects for a cluster may be stamped Stop. Where it is known that the lease cannot be renewed, a fence would
// stop every job with the stamp at once.
func (r *WorkloadReconciler) mayStampStop(cluster string) bool {
	state, ok := r.Fleet.State(cluster)
	return !ok || !state.Fencing.RenewalStarted || state.Fencing.Held && !state.Fencing.Expired
}

// requestLeaseRenewals asks for the leases that are not held and that somebody waits for.
func (r *WorkloadReconciler) requestLeaseRenewals(s *workloadScope) {
	if s.policy.OnHubLost != dispatch.Stop || s.state.Bound != "" {
		return
	}
	for _, v := range s.observed.Clusters {
		if v.Fence.Lease == dispatch.LeaseAwaited {
			r.Fleet.RequestLeaseRenewal(v.Name)
		}
	}
}

// IsLeaseNeeded tells whether something on a cluster depends on the run lease: a policy that says Stop, or an object there
// that was stamped under one.
func (r *WorkloadReconciler) IsLeaseNeeded(cluster string) bool {
	ctx := context.Background()
	if state, _ := r.Fleet.State(cluster); isReplaced(r.lookupClusterInfo(ctx, &workloadScope{}, cluster).identity, state) {
		return false // it would be said of the cluster before that it has heard of us
	}
	configs := &kueue.MultiKueueConfigList{}
	if err := r.Client.List(ctx, configs, client.MatchingFields{byConfigCluster: cluster}); err != nil {
		return true
	}
	for i := range configs.Items {
		if policy, _ := EffectiveRunPolicy(&configs.Items[i], nil); policy == switchyard.RunOnce {
			return true
		}
	}
	queues := &kueue.ClusterQueueList{}
	if err := r.Client.List(ctx, queues, client.MatchingFields{byRunPolicy: string(switchyard.RunOnce)}); err != nil || len(queues.Items) > 0 {
		return true
	}
	return r.Fleet.AnyMatch(cluster, workloadGVK(), mirror.StopsWithoutHub)
}
