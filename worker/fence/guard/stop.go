package guard

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/kube"
)

// concurrentStops is how many Workloads are written at a time: enough that the client's own rate, and not the API server's answers,
// is what a thousand of them take.
const concurrentStops = 16

// stopWorkloads asks for the deactivation of every Workload that the plan stops, in the plan's order, and returns those that were
// written. One that fails keeps none of the others waiting.
func (r *Reconciler) stopWorkloads(ctx context.Context, seen *snapshot, plan fence.Plan) ([]*kueue.Workload, error) {
	of := make(map[types.NamespacedName]*kueue.Workload, len(plan.Stop))
	for _, wl := range seen.workloads {
		of[types.NamespacedName{Namespace: wl.Namespace, Name: wl.Name}] = wl
	}
	var (
		mu      sync.Mutex
		stopped []*kueue.Workload
		group   multierror.Group
		slots   = make(chan struct{}, concurrentStops)
	)
	for _, job := range plan.Stop {
		wl := of[types.NamespacedName{Namespace: job.Namespace, Name: job.Name}]
		slots <- struct{}{}
		group.Go(func() error {
			defer func() { <-slots }()
			written, err := r.stopWorkload(ctx, wl, plan.Next, seen.Now)
			if err == nil && written != nil {
				mu.Lock()
				defer mu.Unlock()
				stopped = append(stopped, written)
			}
			return err
		})
	}
	err := group.Wait().ErrorOrNil()
	return stopped, err
}

// stopWorkload writes the cause, as for a deactivation by the hub (contract: multikueue.md 4 case 6b). What follows is the
// lifecycle's: spec.active=false, the eviction, the job's termination grace, the release of the quota.
func (r *Reconciler) stopWorkload(ctx context.Context, wl *kueue.Workload, because fence.State, now time.Time) (*kueue.Workload, error) {
	next := wl.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: kueue.WorkloadDeactivationTarget, Status: metav1.ConditionTrue, Reason: fence.HubLost,
		Message:            kube.Truncate(because.Message(wl.Labels[kueue.MultiKueueOriginLabel]), kube.MaxConditionMessage),
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: wl.Generation,
	})
	if err := kube.ApplyAdmission(ctx, r.Client, next); isCacheBehind(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return next, nil
}
