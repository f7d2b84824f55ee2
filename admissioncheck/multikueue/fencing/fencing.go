// Package fencing reports on each MultiKueueCluster whether its fence stops the jobs of a hub that it misses.
package fencing

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// Condition is the condition of a MultiKueueCluster that says whether its fence stops the jobs of a hub that it
// misses. It is absent as long as no policy has asked for that. After a restart of the hub it is what is known of a cluster out of reach.
const Condition = "switchyard.dev/Fenced"

// The reasons of Condition.
const (
	reasonFenced          = "Fenced"
	reasonNoFence         = "NoFence"
	reasonLeaseNotRenewed = "LeaseNotRenewed"
	fencedMessage         = "The cluster stops this hub's jobs when the run lease runs out"
	noLeaseMessage        = "The run lease cannot be renewed there; jobs are not stamped to be stopped: "
	noFenceMessage        = "Nothing there stops this hub's jobs when the run lease runs out: "
)

// States are the states of the connections. It is fleet.Fleet.
type States interface {
	// State returns that of a cluster; false if the fleet does not have it.
	State(cluster string) (fleet.State, bool)
}

// Reconciler keeps the condition Condition. It has no other writer.
type Reconciler struct {
	Client client.Client
	Fleet  States
	Clock  clock.PassiveClock

	writes kube.WriteTracker
}

// Reconcile writes the condition of one cluster if it has changed. An attempt that has not ended says nothing: what the program
// before this one has seen stays.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
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
	condition := metav1.Condition{Type: Condition, Status: metav1.ConditionFalse}
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

// Setup adds the controller that reports on fences.
func Setup(mgr ctrl.Manager, f *fleet.Fleet) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("multikueue_fencing").
		For(&kueue.MultiKueueCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(f.ClusterRequests().Source()).
		WithOptions(kube.ControllerOptions()).
		Complete(&Reconciler{Client: mgr.GetClient(), Fleet: f, Clock: clock.RealClock{}})
	if err != nil {
		return fmt.Errorf("controller of fences: %w", err)
	}
	return nil
}
