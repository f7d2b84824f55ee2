package orphans

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/kube"
)

// Gauge counts what is left alone on the clusters. It is of OtherHub or of NoRecord.
var Gauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "switchyard_multikueue_cluster_orphans",
	Help: "Workloads on a cluster that bear the hub's origin and are neither used nor removed: of another hub, or of a time that the hub has no record of",
}, []string{"cluster", "reason"})

// The reasons of the condition switchyard.dev/Orphans, and of the metric. The condition has the first that applies.
const (
	ReasonOtherHub = "OtherHub"
	ReasonNoRecord = "NoRecord"
	ReasonNone     = "NoOrphans"
)

// eventOrphansFound is the event on a cluster whose orphans have changed.
const eventOrphansFound = "OrphansFound"

// reportInterval is how often the clusters are looked through. It costs no call.
const reportInterval = 15 * time.Second

// Finder knows which objects on the workers are orphans. It is controller.WorkloadReconciler.
type Finder interface {
	// HubIdentity is the identity of this hub; empty if it is not known yet.
	HubIdentity() types.UID
	// ListOrphans returns the orphans that the informers of a cluster show.
	ListOrphans(ctx context.Context, cluster string, kinds []fleet.WatchedKind) ByHub
	// SetAdoptedHubs sets the former hubs whose objects are this hub's.
	SetAdoptedHubs(hubs []types.UID)
}

// Reporter keeps the condition switchyard.dev/Orphans of the clusters; it has no other writer. It also reads which hubs were adopted.
type Reporter struct {
	Client client.Client
	// Finder finds the orphans.
	Finder Finder
	Fleet  *fleet.Fleet
	// Kinds are those in which orphans are looked for, besides those that were added to the fleet.
	Kinds    []fleet.WatchedKind
	Recorder events.EventRecorder
	Clock    clock.WithTicker
	Interval time.Duration

	reportedClusters []string // clusters that have metrics
}

// NewReporter returns the Reporter of a manager's hub. Kinds are those in which orphans are looked for.
func NewReporter(mgr ctrl.Manager, f *fleet.Fleet, finder Finder, kinds []fleet.WatchedKind) *Reporter {
	return &Reporter{
		Client: mgr.GetClient(), Finder: finder, Fleet: f, Kinds: kinds, Recorder: mgr.GetEventRecorder(cluster.RecorderName),
		Clock: clock.RealClock{}, Interval: reportInterval,
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (o *Reporter) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (o *Reporter) Start(ctx context.Context) error {
	look := func() {
		if err := o.ReportAll(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Look for orphans on the clusters")
		}
	}
	look()
	kube.RunPeriodically(ctx, o.Clock, o.Interval, look)
	return nil
}

// ReportAll looks through all clusters that are connected and reports on them.
func (o *Reporter) ReportAll(ctx context.Context) error {
	list := &kueue.MultiKueueClusterList{}
	if err := o.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list the clusters: %w", err)
	}
	o.Finder.SetAdoptedHubs(ParseAdoptedHubs(list.Items))
	o.deleteStaleMetrics(list.Items)
	for i := range list.Items {
		cluster := &list.Items[i]
		if state, ok := o.Fleet.State(cluster.Name); !ok || !state.Connected {
			continue // what was last seen stands
		}
		if err := o.reportCluster(ctx, cluster, o.Finder.ListOrphans(ctx, cluster.Name, slices.Concat(o.Kinds, o.Fleet.AddedKinds()))); err != nil {
			return err
		}
	}
	return nil
}

// deleteStaleMetrics takes away the metrics of clusters that are no more.
func (o *Reporter) deleteStaleMetrics(clusters []kueue.MultiKueueCluster) {
	gone := o.reportedClusters
	o.reportedClusters = nil
	for i := range clusters {
		name := clusters[i].Name
		o.reportedClusters = append(o.reportedClusters, name)
		gone = slices.DeleteFunc(gone, func(was string) bool { return was == name })
	}
	for _, cluster := range gone {
		Gauge.DeletePartialMatch(prometheus.Labels{"cluster": cluster})
	}
}

// reportCluster writes the condition if it has changed, and tells of it.
func (o *Reporter) reportCluster(ctx context.Context, cluster *kueue.MultiKueueCluster, found ByHub) error {
	own := o.Finder.HubIdentity()
	Gauge.WithLabelValues(cluster.Name, ReasonOtherHub).Set(float64(found.count(own, false)))
	Gauge.WithLabelValues(cluster.Name, ReasonNoRecord).Set(float64(found.count(own, true)))
	was := meta.FindStatusCondition(cluster.Status.Conditions, switchyard.OrphansCondition)
	is := found.condition(own)
	if was == nil && is.Status == metav1.ConditionFalse || was != nil && was.Status == is.Status && was.Message == is.Message {
		return nil
	}
	is.ObservedGeneration, is.LastTransitionTime = cluster.Generation, metav1.NewTime(o.Clock.Now())
	next := cluster.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, is)
	switch _, err := kube.PatchStatus(ctx, o.Client, cluster, next); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil // next time
	case err != nil:
		return fmt.Errorf("report the orphans on MultiKueueCluster %s: %w", cluster.Name, err)
	}
	if is.Status == metav1.ConditionTrue {
		o.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, eventOrphansFound, eventOrphansFound, "%s",
			kube.Truncate(is.Message, kube.MaxEventNote))
	}
	return nil
}

// count counts the Workloads of this hub, or of others.
func (s ByHub) count(own types.UID, ours bool) int {
	n := 0
	for hub, list := range s {
		if (hub == own) == ours {
			n += len(list)
		}
	}
	return n
}

// maxNamedOrphans is how many Workloads of a hub are named in a message, and of how many hubs. Any user with the right to
// create jobs on a worker can make a job that names any hub.
const maxNamedOrphans, maxNamedHubs = 5, 10

func (s ByHub) condition(own types.UID) metav1.Condition {
	c := metav1.Condition{
		Type: switchyard.OrphansCondition, Status: metav1.ConditionFalse, Reason: ReasonNone,
		Message: "Everything of this hub's origin there is this hub's",
	}
	var parts []string
	for i, hub := range slices.Sorted(maps.Keys(s)) {
		if i == maxNamedHubs {
			parts = append(parts, fmt.Sprintf("and of %d hubs more", len(s)-maxNamedHubs))
			break
		}
		what := "of another hub, " + kube.Sanitize(string(hub), maxHubUID)
		if hub == own {
			what = "of a time that this hub has no record of"
		}
		parts = append(parts, fmt.Sprintf("%d %s (%s)", len(s[hub]), what, sampleNames(s[hub])))
	}
	if len(parts) == 0 {
		return c
	}
	c.Status, c.Reason = metav1.ConditionTrue, ReasonNoRecord
	if s.count(own, false) > 0 {
		c.Reason = ReasonOtherHub
	}
	c.Message = kube.Truncate("Left alone there, though they bear this hub's origin: "+strings.Join(parts, "; "), kube.MaxConditionMessage)
	return c
}

// maxHubUID is how much of what calls itself the UID of a hub is shown.
const maxHubUID = 64

// sampleNames names the first of them.
func sampleNames(names map[string]struct{}) string {
	list := slices.Sorted(maps.Keys(names))
	if len(list) <= maxNamedOrphans {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:maxNamedOrphans], ", ") + ", ..."
}
