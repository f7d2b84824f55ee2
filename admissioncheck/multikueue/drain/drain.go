// Package drain moves jobs off the clusters that are being drained.
package drain

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

	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// Turns remembers which Workload of a cluster leaves it next. tracker.Tracker has these methods.
type Turns interface {
	// NextToDrain returns the next of the Workloads that are bound to the cluster, false if there is none.
	NextToDrain(cluster string, bound []admission.Key) (admission.Key, bool)
	// SetDrainTargets sets the Workloads that are to leave the cluster now.
	SetDrainTargets(cluster string, workloads []admission.Key)
	// EndDrain forgets the turns of a cluster that is not being drained.
	EndDrain(cluster string)
}

// Drainer moves the jobs off clusters that are being drained, one job of a cluster at a time, with all its Workloads. Every
// few seconds it takes the job that was admitted last, because that loses the least work; a job that has run for long may
// finish by itself. Whether and how one moves is decided by dispatch; one that cannot is passed over.
type Drainer struct {
	Client   client.Reader
	Turns    Turns
	Requests *fleet.RequestSource
	// Interval is the time between two jobs of one cluster.
	Interval time.Duration
	Clock    clock.WithTicker
}

// Interval is how often a Workload is moved off a cluster that is being drained.
const Interval = 10 * time.Second

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (d *Drainer) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (d *Drainer) Start(ctx context.Context) error {
	kube.RunPeriodically(ctx, d.Clock, d.Interval, func() { d.DrainClusters(ctx) })
	return nil
}

// DrainClusters gives every cluster that is being drained its next turn.
func (d *Drainer) DrainClusters(ctx context.Context) {
	clusters := &kueue.MultiKueueClusterList{}
	if err := d.Client.List(ctx, clusters); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List clusters to drain")
		return
	}
	for i := range clusters.Items {
		name := clusters.Items[i].Name
		if !cluster.ParseAnnotations(&clusters.Items[i]).Draining {
			d.Turns.EndDrain(name)
			continue
		}
		for _, key := range d.SelectWorkloads(ctx, name) {
			d.Requests.Enqueue(client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, 0)
		}
	}
}

// SelectWorkloads gives the turn to leave a cluster to the next Workload and its siblings there, or to none if none runs there, and
// returns them. When all had a turn, they begin anew.
func (d *Drainer) SelectWorkloads(ctx context.Context, cluster string) (gang []admission.Key) {
	defer func() { d.Turns.SetDrainTargets(cluster, gang) }()
	bound := d.listBoundWorkloads(ctx, cluster)
	keys := make([]admission.Key, 0, len(bound))
	for _, wl := range bound {
		keys = append(keys, keyOf(wl))
	}
	next, _ := d.Turns.NextToDrain(cluster, keys)
	first := slices.Index(keys, next)
	if first < 0 {
		return nil
	}
	gang = []admission.Key{keys[first]}
	siblings, err := hubworkload.ListSiblings(ctx, d.Client, bound[first])
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Drain a cluster")
		return nil
	}
	for i := range siblings {
		if isBoundTo(&siblings[i], cluster) {
			gang = append(gang, keyOf(&siblings[i]))
		}
	}
	return gang
}

// isBoundTo reports whether a Workload is bound to a cluster and has not been given up there.
func isBoundTo(wl *kueue.Workload, cluster string) bool {
	state := hubworkload.DecodeState(wl)
	return state.Bound == cluster && !state.Retreating()
}

// listBoundWorkloads lists the Workloads that run on a cluster and have not been given up there, the last admitted first, then by name. They are
// the cache's own.
func (d *Drainer) listBoundWorkloads(ctx context.Context, cluster string) []*kueue.Workload {
	list := &kueue.WorkloadList{}
	if err := d.Client.List(ctx, list, client.MatchingFields{hubworkload.ByCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the workloads of a cluster to drain")
		return nil
	}
	there := make([]*kueue.Workload, 0, len(list.Items))
	for i := range list.Items {
		if wl := &list.Items[i]; isBoundTo(wl, cluster) && !workload.IsFinished(wl) {
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

func keyOf(wl *kueue.Workload) admission.Key {
	return admission.Key{Namespace: wl.Namespace, Name: wl.Name}
}
