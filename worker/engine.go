package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	componentconfig "k8s.io/component-base/config/v1alpha1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/apiserver"
	"switchyard.dev/worker/capacity"
	"switchyard.dev/worker/controller/jobkind"
	"switchyard.dev/worker/controller/queue"
	"switchyard.dev/worker/controller/workload"
	"switchyard.dev/worker/fence/epoch"
	"switchyard.dev/worker/fence/guard"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/legacy"
	"switchyard.dev/worker/manager"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/scheduler"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/visibility"
	"switchyard.dev/worker/webhook"
)

// engine is what the parts of the admission engine share.
type engine struct {
	*Composition
	view    *view.View
	metrics *metrics.Metrics
	// gatherer reads all metrics of the program, with the custom labels.
	gatherer prometheus.Gatherer
	clock    clock.WithTicker
	// epochs are what both the webhooks of Workloads and those of jobs go by.
	epochs *epoch.Cache
	// followedObjects are the kinds of job that the fence looks at.
	followedObjects *guard.FollowedKinds
	// configured are the kinds of job that JobKinds declare.
	configured *jobkind.Kinds
}

// newEngine returns the engine of a composition, with its view and metrics. Its parts are not added yet.
func newEngine(c *Composition) (*engine, error) {
	e := &engine{
		Composition: c, clock: clock.RealClock{}, view: view.New(viewOptions(c.Settings)),
		epochs: epoch.NewCache(epoch.DefaultCacheSize), followedObjects: &guard.FollowedKinds{},
	}
	options, err := metrics.OptionsFor(c.Settings.Configuration, e.view)
	if err != nil {
		return nil, err
	}
	if e.metrics, err = metrics.New(crmetrics.Registry, options); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if err := metrics.RegisterQueueGauges(crmetrics.Registry, e.view, options); err != nil {
		return nil, fmt.Errorf("register the gauges of queues: %w", err)
	}
	e.gatherer = metrics.WithCustomLabels(crmetrics.Registry, e.view, e.metrics, options)
	return e, nil
}

// ownParts are the parts that every program of the engine has, in the order in which they are added.
func (e *engine) ownParts() []manager.Part {
	parts := []manager.Part{
		{Name: "scheduler", Add: e.addScheduler},
		{Name: "queues", Add: e.addQueues},
		{Name: "workload", Add: e.addWorkloads},
		{Name: "admissioncheck", Add: e.addAdmissionChecks},
	}
	if e.ReportsCapacity {
		parts = append(parts, manager.Part{Name: "capacity", Add: e.addCapacity})
	}
	return append(parts, manager.Part{Name: "fence", Add: e.addFence}, manager.Part{Name: "webhooks", Add: e.addWebhooks})
}

// apiGroups are what the program's own API server serves: pending workloads, unless their gate is off, and what the program adds.
func (e *engine) apiGroups() []apiserver.NewGroup {
	var groups []apiserver.NewGroup
	if e.Settings.Gates.Enabled(features.VisibilityOnDemand) {
		groups = append(groups, visibility.NewGroup(e.view, clock.RealClock{}))
	}
	return append(groups, e.APIGroups...)
}

// addScheduler keeps the view fed and runs the scheduling loop on it.
func (e *engine) addScheduler(ctx context.Context, mgr ctrl.Manager) error {
	if err := e.view.Register(ctx, mgr.GetCache()); err != nil {
		return err
	}
	var recorder events.EventRecorder = mgr.GetEventRecorder(kueue.AdmissionManager)
	preparations := e.preparations()
	coarse := !e.Settings.Gates.Enabled(features.UnadmittedWorkloadsObservability)
	if coarse {
		recorder = legacy.Recorder(recorder)
	}
	return mgr.Add(scheduler.NewScheduler(scheduler.Config{
		View: e.view, Client: mgr.GetClient(), Recorder: recorder,
		Metrics: e.metrics, Cycle: cycleOptions(e.Settings), Clock: e.clock, CoarseReasons: coarse,
		PrepareAdmission: func(wl *kueue.Workload, now time.Time) {
			for _, complete := range preparations {
				complete(wl, now)
			}
		},
	}))
}

// addQueues keeps the statuses of queues and cohorts.
func (e *engine) addQueues(_ context.Context, mgr ctrl.Manager) error {
	parts := queue.Config{
		Client: mgr.GetClient(), View: e.view, Metrics: e.metrics, Clock: e.clock, RateLimiter: queue.NewRateLimiter(),
		FairSharing: e.Settings.FairSharing != nil,
	}
	if err := queue.SetupClusterQueues(mgr, parts); err != nil {
		return err
	}
	if err := queue.SetupLocalQueues(mgr, parts); err != nil {
		return err
	}
	if err := queue.SetupCohorts(mgr, parts); err != nil {
		return err
	}
	return queue.SetupResourceFlavors(mgr, &queue.FlavorReconciler{Client: mgr.GetClient(), View: e.view})
}

func (e *engine) addWorkloads(ctx context.Context, mgr ctrl.Manager) error {
	r := &workload.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(kueue.WorkloadControllerManager),
		Clock: e.clock, Handles: e.handlesWorkload,
		Policy: workload.PolicyFor(e.Settings.Configuration, e.Settings.Gates),
	}
	return r.SetupWithManager(ctx, mgr)
}

// handlesWorkload tells whether an enabled integration looks after the owner.
func (e *engine) handlesWorkload(owner *metav1.OwnerReference) bool {
	group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	return slices.ContainsFunc(frameworks(), func(f job.Framework) bool { return f.GVK().GroupKind() == group && isEnabled(e.Settings, f) }) ||
		e.configured.Serves(group)
}

// addCapacity adds the publisher of the capacity report, for programs that hand out work to several clusters.
func (e *engine) addCapacity(_ context.Context, mgr ctrl.Manager) error {
	options := capacityOptions(e.Settings, e.Kinds)
	options.MoreKinds = e.configured.Names
	return capacity.New(mgr.GetClient(), e.view, e.clock, options).Setup(mgr)
}

func (e *engine) addAdmissionChecks(ctx context.Context, mgr ctrl.Manager) error {
	r := &queue.AdmissionCheckReconciler{Client: mgr.GetClient()}
	return r.SetupWithManager(ctx, mgr)
}

func (e *engine) addWebhooks(ctx context.Context, mgr ctrl.Manager) error {
	if err := e.epochs.Watch(ctx, mgr.GetCache()); err != nil {
		return err
	}
	return webhook.Setup(mgr, e.Settings.Gates, e.epochs)
}

// addFence stops the jobs of hubs that have not renewed their run lease.
func (e *engine) addFence(ctx context.Context, mgr ctrl.Manager) error {
	options, err := jobOptions(e.Settings, e.Kinds)
	if err != nil {
		return err
	}
	return guard.Setup(ctx, mgr, guard.Options{
		Namespace: *e.Settings.Namespace, Clock: e.clock, Registry: crmetrics.Registry,
		Takeover: leaderTakeoverTime(e.Settings.LeaderElection), Rate: float64(*e.Settings.ClientConnection.QPS),
		Workloads: options.Workers(kueue.Kind("Workload")), Jobs: minConcurrency(options), Kinds: e.followedObjects,
	})
}

// leaderTakeoverTime is how long it may take until another program leads. Candidates look every retry period, or up to 2.2 times as
// seldom: so late the next one sees the last renewal, and so late it notices that its time is over.
func leaderTakeoverTime(election *componentconfig.LeaderElectionConfiguration) time.Duration {
	return election.LeaseDuration.Duration + election.RetryPeriod.Duration*44/10
}

// minConcurrency is how many jobs are reconciled at a time, of the kind of which they are fewest.
func minConcurrency(options job.Options) int {
	fewest := 0
	for _, kind := range options.Kinds {
		if n := options.Workers(kind.GVK().GroupKind()); fewest == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}
