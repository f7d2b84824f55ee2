package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/kube"
)

// The reasons of the condition switchyard.dev/Identity. Its message begins with the identity of the cluster that jobs were sent to.
const (
	reasonIdentified   = "Identified"
	reasonNotPermitted = "NotPermitted"
	reasonOtherCluster = "OtherCluster"
)

// unknownIdentity stands for the identity of a cluster that never let itself be known.
const unknownIdentity = "unknown"

// identityRecheckInterval is how often a cluster that was exchanged is looked at, as long as jobs wait for the one before it.
const identityRecheckInterval = 5 * time.Second

// IdentityReconciler keeps the condition switchyard.dev/Identity; it has no other writer.
type IdentityReconciler struct {
	Client     client.Client
	Reconciler *WorkloadReconciler
	Recorder   events.EventRecorder
	Clock      clock.PassiveClock

	writes kube.WriteTracker
}

// Reconcile writes the condition of one cluster if it has changed.
func (r *IdentityReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	state, ok := r.Reconciler.Fleet.State(req.Name)
	cluster := &kueue.MultiKueueCluster{}
	if err := r.Client.Get(ctx, req.NamespacedName, cluster); err != nil || !ok || !state.Connected {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	was := recordedIdentity(cluster)
	waits := false
	if isReplaced(was, state) {
		var err error
		if waits, err = r.Reconciler.hasStrictWorkloads(ctx, req.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	next := cluster.DeepCopy()
	condition := identityCondition(was, state, waits)
	condition.ObservedGeneration, condition.LastTransitionTime = cluster.Generation, metav1.NewTime(r.Clock.Now())
	meta.SetStatusCondition(&next.Status.Conditions, condition)
	wrote, err := r.writes.PatchStatus(ctx, r.Client, cluster, next, r.Clock.Now())
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("report the identity of MultiKueueCluster %s: %w", cluster.Name, err)
	}
	if wrote && isReplaced(was, state) {
		r.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonOtherCluster, reasonOtherCluster, "%s",
			kube.Truncate(condition.Message, kube.MaxEventNote))
	}
	if waits {
		return ctrl.Result{RequeueAfter: identityRecheckInterval}, nil
	}
	if wrote && was != "" && isReplaced(was, state) {
		r.requeueAffected(req.Name)
	}
	return ctrl.Result{}, nil
}

// requeueAffected requeues the Workloads that took the cluster for one out of reach.
func (r *IdentityReconciler) requeueAffected(cluster string) {
	seekers, others := r.Reconciler.AffectedWorkloads(cluster)
	for _, key := range append(seekers, others...) {
		r.Reconciler.Fleet.WorkloadRequests().Enqueue(key, 0)
	}
}

// recordedIdentity is the identity of the cluster that jobs were sent to; empty if that is not known.
func recordedIdentity(cluster *kueue.MultiKueueCluster) types.UID {
	c := meta.FindStatusCondition(cluster.Status.Conditions, switchyard.IdentityCondition)
	if c == nil {
		return ""
	}
	uid, _, _ := strings.Cut(c.Message, ";")
	if uid == unknownIdentity {
		return ""
	}
	return types.UID(uid)
}

// isReplaced tells whether a connection leads to another cluster than jobs were sent to.
func isReplaced(was types.UID, state fleet.State) bool {
	return was != "" && state.Identity != "" && was != state.Identity
}

// identityCondition returns the condition that names the cluster that jobs were sent to. It names that cluster as long as a
// Workload waits for it.
func identityCondition(was types.UID, state fleet.State, waits bool) metav1.Condition {
	c := metav1.Condition{Type: switchyard.IdentityCondition, Status: metav1.ConditionTrue, Reason: reasonIdentified, Message: string(state.Identity)}
	switch {
	case state.Identity == "":
		known := string(was)
		if known == "" {
			known = unknownIdentity
		}
		c.Status, c.Reason = metav1.ConditionUnknown, reasonNotPermitted
		c.Message = known + "; the hub may not ask the cluster for its identity, so that another in its place is not noticed: " + state.IdentityError
	case isReplaced(was, state) && waits:
		c.Status, c.Reason = metav1.ConditionFalse, reasonOtherCluster
		c.Message = fmt.Sprintf("%s; the credentials lead to another cluster, %s: for jobs under run-once and never-lose the first is out of reach; "+
			"give its credentials back, or annotate %s: \"true\" if nothing runs there any more", was, state.Identity, switchyard.GoneAnnotation)
	}
	c.Message = kube.Truncate(c.Message, kube.MaxConditionMessage)
	return c
}

// hasStrictWorkloads tells whether a Workload whose policy promises not to run twice may run on a cluster.
func (r *WorkloadReconciler) hasStrictWorkloads(ctx context.Context, cluster string) (bool, error) {
	list := &kueue.WorkloadList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{hubworkload.ByCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		return true, fmt.Errorf("list the workloads of cluster %s: %w", cluster, err)
	}
	for i := range list.Items {
		wl := &list.Items[i]
		if !mayRunOn(hubworkload.DecodeState(wl), cluster) || meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) {
			continue
		}
		_, ac, err := checkconfig.FindAdmissionCheck(ctx, r.Client, wl)
		if err != nil {
			return true, err
		}
		config, err := r.lookupUsableConfig(ctx, ac)
		if err != nil {
			return true, err
		}
		s := &workloadScope{}
		s.original.Workload = wl
		if r.resolvePolicy(ctx, s, config); runpolicy.ForbidsOverlap(s.policy) {
			return true, nil
		}
	}
	return false, nil
}

// mayRunOn tells whether a State has a cluster that may run the job: an offer is none.
func mayRunOn(s dispatch.State, cluster string) bool {
	if s.Bound == cluster {
		return true
	}
	for _, d := range s.Debts {
		if d.Cluster == cluster {
			return true
		}
	}
	return false
}

// unreachableView is the view of a cluster that another has taken the place of, for Workloads that must know what becomes of
// the first: as if it had been out of reach since then.
func unreachableView(v dispatch.ClusterView, since time.Time) dispatch.ClusterView {
	return dispatch.ClusterView{
		Name: v.Name, InConfig: v.InConfig, Link: dispatch.Link{State: dispatch.Unreachable, Since: since},
		Operator: dispatch.Operator{DeclaredGone: v.Operator.DeclaredGone, Cordoned: v.Operator.Cordoned, BeingDrained: v.Operator.BeingDrained},
		Fence:    dispatch.Fence{Alive: v.Fence.Alive, RenewedAt: v.Fence.RenewedAt},
		Offer:    dispatch.Offer{StartedAt: v.Offer.StartedAt},
	}
}

// replacedSince tells whether, and since when, there is another cluster in the place of the one that jobs were sent to.
func replacedSince(n clusterInfo, state fleet.State, now time.Time) (time.Time, bool) {
	if !state.Connected || !isReplaced(n.identity, state) {
		return time.Time{}, false
	}
	if n.replacedAt.IsZero() {
		return now, true
	}
	return n.replacedAt, true
}
