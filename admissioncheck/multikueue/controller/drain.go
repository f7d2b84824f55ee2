package controller

import (
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

// draining remembers which Workloads are to be moved off each cluster now.
type draining struct {
	mu    sync.Mutex
	turns map[string][]types.NamespacedName
}

// turn reports whether it is the Workload's turn to leave the cluster.
func (d *draining) turn(cluster string, key types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.turns[cluster], key)
}

// set gives the turn to the Workloads, or to nobody.
func (d *draining) set(cluster string, keys []types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(keys) == 0 {
		delete(d.turns, cluster)
		return
	}
	if d.turns == nil {
		d.turns = map[string][]types.NamespacedName{}
	}
	d.turns[cluster] = keys
}

// Drain moves the jobs off clusters that are being drained, one job of a cluster at a time, with all its Workloads: every few seconds
// the next one, last admitted first, because it loses the least work, and those who have run for long may finish by themselves.
// Whether and how one moves is decided by dispatch; one that cannot is passed over.
type Drain struct {
	Resolver *Resolver
	// Every is the time between two jobs of one cluster.
	Every time.Duration
	Clock clock.WithTicker

	passed map[string][]types.NamespacedName // had their turn, and are there still
}

// drainEvery is how often a Workload is moved off a cluster that is being drained.
const drainEvery = 10 * time.Second

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (d *Drain) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (d *Drain) Start(ctx context.Context) error {
	every(ctx, d.Clock, d.Every, func() { d.turn(ctx) })
	return nil
}

// turn gives every cluster that is being drained its next turn.
func (d *Drain) turn(ctx context.Context) {
	clusters := &kueue.MultiKueueClusterList{}
	if err := d.Resolver.Client.List(ctx, clusters); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List clusters to drain")
		return
	}
	for i := range clusters.Items {
		name := clusters.Items[i].Name
		var next []types.NamespacedName
		if marksOf(&clusters.Items[i]).drain {
			next = d.next(ctx, name)
		} else {
			delete(d.passed, name)
		}
		d.Resolver.draining.set(name, next)
		for _, key := range next {
			d.Resolver.Fleet.Workloads().Send(key, 0)
		}
	}
}

// next chooses who leaves a cluster next: one Workload and its siblings there, or nobody if none runs there. When all had a turn,
// they begin anew.
func (d *Drain) next(ctx context.Context, cluster string) []types.NamespacedName {
	there := d.boundTo(ctx, cluster)
	if d.passed == nil {
		d.passed = map[string][]types.NamespacedName{}
	}
	waits := func(wl kueue.Workload) bool {
		return !slices.Contains(d.passed[cluster], client.ObjectKeyFromObject(&wl))
	}
	i := slices.IndexFunc(there, waits)
	if i < 0 {
		d.passed[cluster], i = nil, 0
	}
	if len(there) == 0 {
		return nil
	}
	gang := []types.NamespacedName{client.ObjectKeyFromObject(&there[i])}
	siblings, err := d.Resolver.siblingsOf(ctx, &there[i])
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Drain a cluster")
		return nil
	}
	for j := range siblings {
		if state := stateOf(&siblings[j]); state.Bound == cluster && !state.Retreating() {
			gang = append(gang, client.ObjectKeyFromObject(&siblings[j]))
		}
	}
	stays := func(key types.NamespacedName) bool {
		return slices.ContainsFunc(there, func(wl kueue.Workload) bool { return client.ObjectKeyFromObject(&wl) == key })
	}
	d.passed[cluster] = append(slices.DeleteFunc(d.passed[cluster], func(key types.NamespacedName) bool { return !stays(key) }), gang...)
	return gang
}

// boundTo lists the Workloads that run on a cluster and have not been given up there, the last admitted first, then by name. They are
// the cache's own.
func (d *Drain) boundTo(ctx context.Context, cluster string) []kueue.Workload {
	list := &kueue.WorkloadList{}
	if err := d.Resolver.Client.List(ctx, list, client.MatchingFields{byCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of a cluster to drain")
		return nil
	}
	items := slices.DeleteFunc(list.Items, func(wl kueue.Workload) bool {
		state := stateOf(&wl)
		return state.Bound != cluster || state.Retreating()
	})
	slices.SortFunc(items, func(a, b kueue.Workload) int {
		if order := admittedAt(&b).Compare(admittedAt(&a)); order != 0 {
			return order
		}
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return items
}

func admittedAt(wl *kueue.Workload) time.Time {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
