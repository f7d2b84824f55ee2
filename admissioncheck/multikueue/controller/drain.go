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

// draining remembers which Workload is to be moved off each cluster now.
type draining struct {
	mu    sync.Mutex
	turns map[string]types.NamespacedName
}

// turn reports whether it is the Workload's turn to leave the cluster.
func (d *draining) turn(cluster string, key types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	moving, ok := d.turns[cluster]
	return ok && moving == key
}

// set gives the turn to a Workload, or to nobody.
func (d *draining) set(cluster string, key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if key.Name == "" {
		delete(d.turns, cluster)
		return
	}
	if d.turns == nil {
		d.turns = map[string]types.NamespacedName{}
	}
	d.turns[cluster] = key
}

// Drain moves the jobs off clusters that are being drained, one Workload of a cluster at a time: every few seconds the next
// one, last admitted first, because it loses the least work, and those who have run for long may finish by themselves.
// Whether and how one moves is decided by dispatch; one that cannot is passed over.
type Drain struct {
	Resolver *Resolver
	// Every is the time between two Workloads of one cluster.
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
	ticker := d.Clock.NewTicker(d.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			d.turn(ctx)
		}
	}
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
		var next types.NamespacedName
		if marksOf(&clusters.Items[i]).drain {
			next = d.next(ctx, name)
		} else {
			delete(d.passed, name)
		}
		d.Resolver.draining.set(name, next)
		if next.Name != "" {
			d.Resolver.Fleet.Workloads().Send(next, 0)
		}
	}
}

// next chooses who leaves a cluster next; the zero name if nobody runs there. When all had a turn, they begin anew.
func (d *Drain) next(ctx context.Context, cluster string) types.NamespacedName {
	there := d.boundTo(ctx, cluster)
	if d.passed == nil {
		d.passed = map[string][]types.NamespacedName{}
	}
	passed := slices.DeleteFunc(d.passed[cluster], func(key types.NamespacedName) bool { return !slices.Contains(there, key) })
	i := slices.IndexFunc(there, func(key types.NamespacedName) bool { return !slices.Contains(passed, key) })
	if i < 0 && len(there) > 0 {
		passed, i = nil, 0
	}
	var next types.NamespacedName
	if i >= 0 {
		next = there[i]
		passed = append(passed, next)
	}
	d.passed[cluster] = passed
	return next
}

// boundTo lists the Workloads that run on a cluster and have not been given up there, the last admitted first, then by name.
func (d *Drain) boundTo(ctx context.Context, cluster string) []types.NamespacedName {
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
	keys := make([]types.NamespacedName, 0, len(items))
	for i := range items {
		keys = append(keys, client.ObjectKeyFromObject(&items[i]))
	}
	return keys
}

func admittedAt(wl *kueue.Workload) time.Time {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
