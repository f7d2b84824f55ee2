package controller

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
)

// CapacityWatcher makes the reconciler look again at Workloads that some cluster could not be offered, once what decides that is not what
// it was: a LocalQueue was made there, a queue resumed, a quota raised, or a report has ceased to count. It compares, and so
// misses nothing, however late: what a Workload was refused by was noted when that was decided. Figures that only say how
// much is free decide nothing, and are no news.
type CapacityWatcher struct {
	Reconciler *WorkloadReconciler
	// Interval is the time between two comparisons.
	Interval time.Duration
	Clock    clock.WithTicker
}

const (
	// capacityWatchInterval is how long news of capacity take at most, and maxCapacityRequeues how many Workloads they requeue at a time, those that
	// were looked at longest ago first: a queue that opens and closes with a thousand waiting for it costs no more than that.
	capacityWatchInterval, maxCapacityRequeues = 500 * time.Millisecond, 100
)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (n *CapacityWatcher) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (n *CapacityWatcher) Start(ctx context.Context) error {
	kube.RunPeriodically(ctx, n.Clock, n.Interval, func() { n.requeueAffected() })
	return nil
}

// requeueAffected makes the Workloads be decided again that some change concerns, and returns how many they are. The tracker is not
// locked while capacities and terms are worked out.
func (n *CapacityWatcher) requeueAffected() int {
	r, now := n.Reconciler, n.Clock.Now()
	var clusters []string
	var affected []*tracker.Unplaced
	r.tracker.do(func(t *tracker.Tracker) {
		clusters, affected = t.Unplaced().IneligibleClusters(), t.Unplaced().Overdue(now)
	})
	for _, name := range clusters {
		capacity := r.capacities.Lookup(name, now)
		queues := readTracker(r.tracker, func(t *tracker.Tracker) []admission.Key { return t.Unplaced().UncomparedQueues(name, capacity) })
		for _, queue := range queues {
			terms := r.capacities.TermsFor(name, capacity, queue)
			r.tracker.do(func(t *tracker.Tracker) {
				affected = append(affected, t.Unplaced().ChangedTerms(name, queue, terms)...)
			})
		}
	}
	due := readTracker(r.tracker, func(t *tracker.Tracker) []admission.Key { return t.Unplaced().Pop(affected, maxCapacityRequeues) })
	for _, key := range due {
		r.Fleet.WorkloadRequests().Enqueue(namespacedName(key), 0)
	}
	return len(due)
}

// newUnplaced is nil if no news of capacity matter to the Workload.
func newUnplaced(s *workloadScope) *tracker.Unplaced {
	if len(s.ineligible) == 0 || s.state.Bound != "" || s.policy.Dispatcher != dispatch.BestFit {
		return nil
	}
	wl := s.original.Workload
	u := &tracker.Unplaced{Key: admissionKey(s.key()), LocalQueue: localQueueKey(wl), DecidedAt: s.observed.Now, Ineligible: s.ineligible}
	if len(wl.Spec.PodSets) > 1 {
		u.RecheckAt = u.DecidedAt.Add(tracker.PodSetsRecheckInterval)
	}
	return u
}
