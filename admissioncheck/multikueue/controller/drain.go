package controller

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// drainTargets remembers which Workloads are to be moved off each cluster now.
type drainTargets struct {
	mu        sync.Mutex
	workloads map[string][]types.NamespacedName
}

// contains reports whether it is the Workload's turn to leave the cluster.
func (d *drainTargets) contains(cluster string, key types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.workloads[cluster], key)
}

// set gives the turn to the Workloads, or to nobody.
func (d *drainTargets) set(cluster string, keys []types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(keys) == 0 {
		delete(d.workloads, cluster)
		return
	}
	if d.workloads == nil {
		d.workloads = map[string][]types.NamespacedName{}
	}
	d.workloads[cluster] = keys
}

// Drainer moves the jobs off clusters that are being drained, one job of a cluster at a time, with all its Workloads: every few seconds
// the next one, last admitted first, because it loses the least work, and those who have run for long may finish by themselves.
// Whether and how one moves is decided by dispatch; one that cannot is passed over.
type Drainer struct {
	Reconciler *WorkloadReconciler
	// Interval is the time between two jobs of one cluster.
	Interval time.Duration
	Clock    clock.WithTicker

	tried map[string]triedWorkloads
}

// triedWorkloads are those who had their turn to leave a cluster, and are there still.
type triedWorkloads map[types.NamespacedName]struct{}

// drainInterval is how often a Workload is moved off a cluster that is being drained.
const drainInterval = 10 * time.Second

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (d *Drainer) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (d *Drainer) Start(ctx context.Context) error {
	runPeriodically(ctx, d.Clock, d.Interval, func() { d.drainClusters(ctx) })
	return nil
}

// drainClusters gives every cluster that is being drained its next turn.
func (d *Drainer) drainClusters(ctx context.Context) {
	clusters := &kueue.MultiKueueClusterList{}
	if err := d.Reconciler.Client.List(ctx, clusters); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List clusters to drain")
		return
	}
	for i := range clusters.Items {
		name := clusters.Items[i].Name
		var next []types.NamespacedName
		if parseClusterAnnotations(&clusters.Items[i]).draining {
			next = d.selectWorkloads(ctx, name)
		} else {
			delete(d.tried, name)
		}
		d.Reconciler.drainTargets.set(name, next)
		for _, key := range next {
			d.Reconciler.Fleet.WorkloadRequests().Enqueue(key, 0)
		}
	}
}

// selectWorkloads chooses who leaves a cluster next: one Workload and its siblings there, or nobody if none runs there. When all had a turn,
// they begin anew.
func (d *Drainer) selectWorkloads(ctx context.Context, cluster string) []types.NamespacedName {
	there := d.listBoundWorkloads(ctx, cluster)
	if len(there) == 0 {
		return nil
	}
	first, had := d.tried[cluster].selectNext(there)
	gang := []types.NamespacedName{client.ObjectKeyFromObject(first)}
	siblings, err := d.Reconciler.listSiblings(ctx, first)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Drain a cluster")
		return nil
	}
	for i := range siblings {
		if isBoundTo(&siblings[i], cluster) {
			gang = append(gang, client.ObjectKeyFromObject(&siblings[i]))
		}
	}
	for _, key := range gang {
		had[key] = struct{}{}
	}
	if d.tried == nil {
		d.tried = map[string]triedWorkloads{}
	}
	d.tried[cluster] = had
	return gang
}

// selectNext returns the first of those there, of whom there is at least one, that had no turn, and those that had one; if all had one,
// none had.
func (p triedWorkloads) selectNext(there []*kueue.Workload) (*kueue.Workload, triedWorkloads) {
	var first *kueue.Workload
	had := make(triedWorkloads, len(there))
	for _, wl := range there {
		key := client.ObjectKeyFromObject(wl)
		if _, is := p[key]; is {
			had[key] = struct{}{}
		} else if first == nil {
			first = wl
		}
	}
	if first == nil {
		return there[0], triedWorkloads{}
	}
	return first, had
}

// isBoundTo reports whether a Workload is bound to a cluster and has not been given up there.
func isBoundTo(wl *kueue.Workload, cluster string) bool {
	state := decodeState(wl)
	return state.Bound == cluster && !state.Retreating()
}

// listBoundWorkloads lists the Workloads that run on a cluster and have not been given up there, the last admitted first, then by name. They are
// the cache's own.
func (d *Drainer) listBoundWorkloads(ctx context.Context, cluster string) []*kueue.Workload {
	list := &kueue.WorkloadList{}
	if err := d.Reconciler.Client.List(ctx, list, client.MatchingFields{byCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of a cluster to drain")
		return nil
	}
	there := make([]*kueue.Workload, 0, len(list.Items))
	for i := range list.Items {
		if isBoundTo(&list.Items[i], cluster) {
			there = append(there, &list.Items[i])
		}
	}
	slices.SortFunc(there, func(a, b *kueue.Workload) int {
		return cmp.Or(admittedAt(b).Compare(admittedAt(a)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return there
}

func admittedAt(wl *kueue.Workload) time.Time {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
