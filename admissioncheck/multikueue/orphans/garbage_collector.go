package orphans

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// GarbageCollector looks in the fleet's caches for objects of our origin whose Workload the hub does not have, or does not
// have there, and makes the reconciler look at it (contract: multikueue.md 5). It removes nothing and makes no calls: the
// reconciler does, after it has made sure. What a connection shows first is looked at in any case; the sweep is for what was
// missed.
type GarbageCollector struct {
	Client client.Reader
	Fleet  *fleet.Fleet
	// Kinds are those in which it looks, besides those that were added to the fleet.
	Kinds []fleet.WatchedKind
	// Policy says how long what has finished stays.
	Policy dispatch.Policy
	// Interval is the time between sweeps; zero for none.
	Interval time.Duration
	Clock    clock.WithTicker
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *GarbageCollector) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (s *GarbageCollector) Start(ctx context.Context) error {
	kube.RunPeriodically(ctx, s.Clock, s.Interval, func() { s.RequeueGarbage(ctx) })
	return nil
}

// RequeueGarbage looks through all connected clusters once.
func (s *GarbageCollector) RequeueGarbage(ctx context.Context) {
	for _, state := range s.Fleet.States() {
		if !state.Connected {
			continue
		}
		for _, kind := range slices.Concat(s.Kinds, s.Fleet.AddedKinds()) {
			for _, obj := range s.Fleet.List(state.Cluster, kind.GVK) {
				if key, ok := kind.WorkloadKey(obj); ok && s.isGarbage(ctx, key, state.Cluster) {
					s.Fleet.RequeueWorkload(state.Cluster, key)
				}
			}
		}
	}
}

// isGarbage tells whether, as far as the hub's cache knows, the Workload has no business on the cluster. One that has finished has
// none, unless it is retained: what is there of it is going, or has come back with a backup of the cluster.
func (s *GarbageCollector) isGarbage(ctx context.Context, key client.ObjectKey, cluster string) bool {
	wl := &kueue.Workload{}
	if err := s.Client.Get(ctx, key, wl, client.UnsafeDisableDeepCopy); err != nil {
		return apierrors.IsNotFound(err)
	}
	if workload.IsFinished(wl) {
		return !s.isRetained(wl, cluster)
	}
	for _, name := range hubworkload.DecodeState(wl).Names() {
		if name == cluster {
			return false
		}
	}
	return true
}

// isRetained tells whether what a finished Workload has left on a cluster stays there for a time, as far as that can be told from its copy.
// The reconciler looks again when the time is over, and when people want the cluster empty.
func (s *GarbageCollector) isRetained(wl *kueue.Workload, cluster string) bool {
	if s.Policy.RetainFinished <= 0 || s.Policy.RetainedUntil(hubworkload.FinishedAt(wl), s.Clock.Now()).IsZero() {
		return false
	}
	state := hubworkload.DecodeState(wl)
	seen, _ := s.Fleet.Get(cluster, kueue.GroupVersion.WithKind("Workload"), client.ObjectKeyFromObject(wl))
	remote, ok := seen.(*kueue.Workload)
	return state.Bound == cluster && !state.Retreating() && ok && workload.IsFinished(remote)
}
