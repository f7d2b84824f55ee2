package controller

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
)

// Drainer moves the jobs off clusters that are being drained, one job of a cluster at a time, with all its Workloads: every few seconds
// the next one, last admitted first, because it loses the least work, and those who have run for long may finish by themselves.
// Whether and how one moves is decided by dispatch; one that cannot is passed over.
type Drainer struct {
	Reconciler *WorkloadReconciler
	// Interval is the time between two jobs of one cluster.
	Interval time.Duration
	Clock    clock.WithTicker
}

// drainInterval is how often a Workload is moved off a cluster that is being drained.
const drainInterval = 10 * time.Second

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (d *Drainer) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (d *Drainer) Start(ctx context.Context) error {
	kube.RunPeriodically(ctx, d.Clock, d.Interval, func() { d.drainClusters(ctx) })
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
		r := d.Reconciler
		if !parseClusterAnnotations(&clusters.Items[i]).draining {
			r.tracker.do(func(t *tracker.Tracker) { t.EndDrain(name) })
			continue
		}
		for _, key := range d.selectWorkloads(ctx, name) {
			r.Fleet.WorkloadRequests().Enqueue(namespacedName(key), 0)
		}
	}
}

// selectWorkloads gives the turn to leave a cluster to the next Workload and its siblings there, or to none if none runs there, and
// returns them. When all had a turn, they begin anew.
func (d *Drainer) selectWorkloads(ctx context.Context, cluster string) (gang []admission.Key) {
	defer func() {
		d.Reconciler.tracker.do(func(t *tracker.Tracker) { t.SetDrainTargets(cluster, gang) })
	}()
	bound := d.listBoundWorkloads(ctx, cluster)
	keys := make([]admission.Key, 0, len(bound))
	for _, wl := range bound {
		keys = append(keys, admissionKey(client.ObjectKeyFromObject(wl)))
	}
	var first int
	d.Reconciler.tracker.do(func(t *tracker.Tracker) {
		next, _ := t.NextToDrain(cluster, keys)
		first = slices.Index(keys, next)
	})
	if first < 0 {
		return nil
	}
	gang = []admission.Key{keys[first]}
	siblings, err := d.Reconciler.listSiblings(ctx, bound[first])
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Drain a cluster")
		return nil
	}
	for i := range siblings {
		if isBoundTo(&siblings[i], cluster) {
			gang = append(gang, admissionKey(client.ObjectKeyFromObject(&siblings[i])))
		}
	}
	return gang
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
