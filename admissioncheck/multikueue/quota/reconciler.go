package quota

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=clusterqueues/status,verbs=patch

// Reconciler keeps the nominal quotas of ClusterQueues with a multikueue check at the sum of what their workers have, where
// their MultiKueueConfig asks for it (contract: multikueue.md 9). It is added only with the gate
// MultiKueueManagerQuotaAutomation, and calls no worker.
type Reconciler struct {
	Client client.Client
	Fleet  *fleet.Fleet
	Clock  clock.PassiveClock
	// Grace is how long the quota of a worker that cannot be reached still counts.
	Grace time.Duration
	// Requests carries ClusterQueues to look at; the empty name stands for all.
	Requests *fleet.RequestSource

	writes kube.WriteTracker
}

// Reconcile brings the quota or the condition of one ClusterQueue up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if req.Name == "" {
		return ctrl.Result{}, r.enqueueAll(ctx)
	}
	queue := &kueue.ClusterQueue{}
	if err := r.Client.Get(ctx, req.NamespacedName, queue); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !queue.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	in, err := r.observe(ctx, queue)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := planQuota(in)
	switch err := r.executePlan(ctx, queue, plan); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, fmt.Errorf("keep the quota of ClusterQueue %s: %w", queue.Name, err)
	}
	return kube.RequeueAt(plan.RecheckAt, in.Now), nil
}

// enqueueAll makes every ClusterQueue with a check be looked at.
func (r *Reconciler) enqueueAll(ctx context.Context) error {
	list := &kueue.ClusterQueueList{}
	if err := r.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list ClusterQueues: %w", err)
	}
	for i := range list.Items {
		q := &list.Items[i]
		if q.Spec.AdmissionChecksStrategy != nil || meta.FindStatusCondition(q.Status.Conditions, kueue.ClusterQueueMultiKueueManagerQuotaAutomation) != nil {
			r.Requests.Enqueue(client.ObjectKeyFromObject(q), 0)
		}
	}
	return nil
}

func (r *Reconciler) observe(ctx context.Context, queue *kueue.ClusterQueue) (quotaInput, error) {
	in := quotaInput{Now: r.Clock.Now(), Groups: queue.Spec.ResourceGroups, Grace: r.Grace}
	ac, err := r.lookupAdmissionCheck(ctx, queue)
	if err != nil || ac == nil {
		return in, err
	}
	in.HasCheck = true
	config := &kueue.MultiKueueConfig{}
	if p := ac.Spec.Parameters; p == nil || p.Kind != checkconfig.ConfigKind {
		return in, nil
	}
	switch err := r.Client.Get(ctx, client.ObjectKey{Name: ac.Spec.Parameters.Name}, config); {
	case apierrors.IsNotFound(err):
		return in, nil
	case err != nil:
		return in, fmt.Errorf("read MultiKueueConfig %s: %w", ac.Spec.Parameters.Name, err)
	}
	in.Config = config
	if config.Spec.QuotaManagement != kueue.QuotaManagementAutomated {
		return in, nil
	}
	in.Workers, err = r.observeWorkers(ctx, queue, config)
	return in, err
}

// lookupAdmissionCheck returns the multikueue check of a ClusterQueue, nil if there is none.
func (r *Reconciler) lookupAdmissionCheck(ctx context.Context, queue *kueue.ClusterQueue) (*kueue.AdmissionCheck, error) {
	if queue.Spec.AdmissionChecksStrategy == nil {
		return nil, nil
	}
	for _, rule := range queue.Spec.AdmissionChecksStrategy.AdmissionChecks {
		ac := &kueue.AdmissionCheck{}
		err := r.Client.Get(ctx, client.ObjectKey{Name: string(rule.Name)}, ac)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("read AdmissionCheck %s: %w", rule.Name, err)
		case ac.Spec.ControllerName == kueue.MultiKueueControllerName:
			return ac, nil
		}
	}
	return nil, nil
}

// observeWorkers is what the clusters of a config have to give. A cluster that does not exist gives nothing.
func (r *Reconciler) observeWorkers(ctx context.Context, queue *kueue.ClusterQueue, config *kueue.MultiKueueConfig) ([]quotaWorker, error) {
	locals := &kueue.LocalQueueList{}
	if err := r.Client.List(ctx, locals, client.MatchingFields{byClusterQueue: queue.Name}); err != nil {
		return nil, fmt.Errorf("list LocalQueues of %s: %w", queue.Name, err)
	}
	var workers []quotaWorker
	for _, name := range config.Spec.Clusters {
		err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &kueue.MultiKueueCluster{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
		}
		workers = append(workers, r.observeWorker(name, locals.Items))
	}
	return workers, nil
}

// observeWorker is what one cluster has to give behind the LocalQueues of the same namespaces and names, as the fleet saw it last.
func (r *Reconciler) observeWorker(name string, locals []kueue.LocalQueue) quotaWorker {
	state, known := r.Fleet.State(name)
	w := quotaWorker{Name: name, Connected: state.Connected, LostSince: state.LostSince}
	if !known {
		w.LostSince = r.Clock.Now()
	}
	_, queues := r.Fleet.Get(name, checkconfig.ClusterQueueGVK(), types.NamespacedName{})
	_, ways := r.Fleet.Get(name, checkconfig.LocalQueueGVK(), types.NamespacedName{})
	if w.GroupsKnown = queues && ways; !w.GroupsKnown {
		return w
	}
	counted := map[kueue.ClusterQueueReference]bool{}
	for i := range locals {
		obj, _ := r.Fleet.Get(name, checkconfig.LocalQueueGVK(), client.ObjectKeyFromObject(&locals[i]))
		local, ok := obj.(*kueue.LocalQueue)
		if !ok || counted[local.Spec.ClusterQueue] {
			continue
		}
		counted[local.Spec.ClusterQueue] = true
		obj, _ = r.Fleet.Get(name, checkconfig.ClusterQueueGVK(), types.NamespacedName{Name: string(local.Spec.ClusterQueue)})
		if behind, ok := obj.(*kueue.ClusterQueue); ok {
			w.Groups = append(w.Groups, behind.Spec.ResourceGroups...)
		}
	}
	return w
}

// executePlan writes the quota, or else the condition: the condition speaks of a quota that is there. A quota that the API server
// does not take, because the ClusterQueue's own limits forbid it, becomes a condition.
func (r *Reconciler) executePlan(ctx context.Context, queue *kueue.ClusterQueue, plan quotaPlan) error {
	next := queue.DeepCopy()
	if !equality.Semantic.DeepEqual(plan.Groups, queue.Spec.ResourceGroups) {
		next.Spec.ResourceGroups = plan.Groups
		_, err := r.writes.Patch(ctx, r.Client, queue, next, r.Clock.Now())
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			return err
		}
		next = queue.DeepCopy()
		plan.Condition = quotaCondition(metav1.ConditionFalse, kueue.ReasonUnsupportedConfiguration, err.Error())
	}
	if plan.Condition == nil {
		meta.RemoveStatusCondition(&next.Status.Conditions, kueue.ClusterQueueMultiKueueManagerQuotaAutomation)
	} else {
		plan.Condition.ObservedGeneration = queue.Generation
		plan.Condition.LastTransitionTime = metav1.NewTime(r.Clock.Now())
		meta.SetStatusCondition(&next.Status.Conditions, *plan.Condition)
	}
	_, err := r.writes.PatchStatus(ctx, r.Client, queue, next, r.Clock.Now())
	return err
}
