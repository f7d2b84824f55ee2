package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"switchyard.dev/admissioncheck/multikueue/check"
	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/drain"
	"switchyard.dev/admissioncheck/multikueue/external"
	"switchyard.dev/admissioncheck/multikueue/fencing"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/orphans"
	"switchyard.dev/admissioncheck/multikueue/quota"
	"switchyard.dev/admissioncheck/multikueue/uptime"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/podrequests"
)

// Settings are what the composition root chooses.
type Settings struct {
	// Origin, Policy and GCInterval as in the Configuration's multiKueue.
	Origin     string
	Policy     dispatch.Policy
	GCInterval time.Duration
	// Namespace is the hub's own, where kubeconfig Secrets live. The manager's cache need hold no others.
	Namespace string
	// Kinds that can be mirrored.
	Kinds []job.Integration
	// Declared, optional, are the kinds that come and go while the program runs.
	Declared *DeclaredKinds
	// NameInLabel is set when the gate WorkloadIdentifierAnnotations is off.
	NameInLabel bool
	// QuotaAutomation is the gate MultiKueueManagerQuotaAutomation.
	QuotaAutomation bool
	// CredentialSources says where the credentials of clusters may come from.
	CredentialSources cluster.CredentialSources
	// PodRequestRules are the hub's rules about the resources that a pod asks for.
	PodRequestRules podrequests.Rules
	// WaitForPodsReady makes the dispatcher report the condition PodsReady where nothing on the hub can.
	WaitForPodsReady bool
	// Fleet overrides how patient the supervisors are; origin, kinds and scheme in it are ignored.
	Fleet fleet.Options

	// quotaRequests tells of changes that quota automation needs to know of; nil without it.
	quotaRequests *fleet.RequestSource
}

// Setup adds the multikueue check to a manager: the fleet, the controllers and the sweep. It returns the WorkloadReconciler, whose
// Prepare is for the hub's scheduler.
func Setup(ctx context.Context, mgr ctrl.Manager, s Settings) (*WorkloadReconciler, error) {
	for _, i := range fieldIndexes() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, i.object, i.name, i.extract); err != nil {
			return nil, fmt.Errorf("index %T by %s: %w", i.object, i.name, err)
		}
	}
	if s.QuotaAutomation {
		s.quotaRequests = &fleet.RequestSource{}
	}
	resolver, sweep, err := buildComponents(mgr, s)
	if err != nil {
		return nil, err
	}
	steps := []func() error{
		func() error { return RegisterMetrics(metrics.Registry) },
		func() error { return registerFleetMetrics(metrics.Registry, resolver.Fleet) },
		func() error { return mgr.Add(resolver.Fleet) },
		func() error { return mgr.Add(sweep) },
		func() error { return mgr.Add(resolver.Hub) },
		func() error { return mgr.Add(orphans.NewReporter(mgr, resolver.Fleet, resolver.orphans, sweep.Kinds)) },
		func() error {
			return mgr.Add(resolver.newDrainer())
		},
		func() error {
			return mgr.Add(&CapacityWatcher{Reconciler: resolver, Interval: capacityWatchInterval, Clock: clock.RealClock{}})
		},
		func() error { return resolver.setup(mgr) },
		func() error { return fencing.Setup(mgr, resolver.Fleet) },
		func() error { return setupIdentities(mgr, resolver) },
		func() error { return cluster.Setup(mgr, resolver.Fleet, s.Namespace, s.CredentialSources) },
		func() error {
			if !s.QuotaAutomation {
				return nil
			}
			return quota.Setup(ctx, mgr, resolver.Fleet, s.Policy.WorkerLostTimeout, s.quotaRequests)
		},
		func() error { return check.Setup(mgr) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("set up the multikueue check: %w", err)
		}
	}
	return resolver, nil
}

// buildComponents makes the fleet, the reconciler over it and the garbage collector. Nothing of them runs yet.
func buildComponents(mgr ctrl.Manager, s Settings) (*WorkloadReconciler, *orphans.GarbageCollector, error) {
	for _, add := range []func(*runtime.Scheme) error{coordinationv1.AddToScheme, switchyard.AddToScheme} {
		if err := add(mgr.GetScheme()); err != nil {
			return nil, nil, fmt.Errorf("know the types of what is followed on workers: %w", err)
		}
	}
	sharing := &JobNameLookup{}
	options := s.Fleet
	kinds := FleetKinds(s.Kinds, sharing)
	options.Origin, options.Scheme, options.Kinds = s.Origin, mgr.GetScheme(), kinds
	capacity := CapacityKinds()
	if s.Policy.Dispatcher != dispatch.BestFit {
		capacity = capacity[:1] // whether another cluster could take a job that is to be moved is worth a report, not an estimate
	}
	options.Kinds = slices.Concat(kinds, capacity)
	if s.quotaRequests != nil {
		options.Kinds = quota.WithWatchedQueues(slices.Clone(options.Kinds), s.quotaRequests)
	}
	jobs, err := external.NewCaches(mgr, s.Kinds)
	if err != nil {
		return nil, nil, err
	}
	r := NewWorkloadReconciler(&WorkloadReconciler{
		Client: external.Client{Client: mgr.GetClient(), Caches: jobs}, APIReader: mgr.GetAPIReader(), Members: mgr.GetCache(), externalCaches: jobs,
		Kinds: s.Kinds, declared: s.Declared, Origin: s.Origin, Policy: s.Policy, PodRequestRules: s.PodRequestRules,
		NameInLabel: s.NameInLabel, WaitForPodsReady: s.WaitForPodsReady, Recorder: mgr.GetEventRecorder(kueue.WorkloadControllerManager), Clock: clock.RealClock{},
		Hub: &uptime.Hub{APIReader: mgr.GetAPIReader(), Client: mgr.GetClient(), Namespace: s.Namespace, Clock: clock.RealClock{}},
	})
	options.AffectedWorkloads, options.OnRemoved, options.OwnsWorkload = r.AffectedWorkloads, r.forgetCluster, r.orphans.OwnsWorkload
	options.Lease = &fleet.LeaseOptions{
		Namespace: s.Namespace, Name: fence.LeaseName(s.Origin), Duration: s.Policy.LeaseDuration, IsNeeded: r.IsLeaseNeeded,
		Margin: s.Policy.SkewMargin, Identity: r.Hub.Identity, AdoptedIdentities: r.orphans.adoptedHubs.get,
	}
	r.SetFleet(fleet.New(options))
	sharing.Reconciler = r
	return r, &orphans.GarbageCollector{Client: mgr.GetClient(), Fleet: r.Fleet, Kinds: kinds, Policy: s.Policy, Interval: s.GCInterval, Clock: clock.RealClock{}}, nil
}

// newDrainer returns what gives the Workloads on clusters that are being drained their turns to leave.
func (r *WorkloadReconciler) newDrainer() *drain.Drainer {
	return &drain.Drainer{
		Client: r.Client, Turns: r.tracker, Requests: r.Fleet.WorkloadRequests(), Interval: drain.Interval, Clock: clock.RealClock{},
	}
}

// setup adds the controller of Workloads, with all that requeues them.
func (r *WorkloadReconciler) setup(mgr ctrl.Manager) error {
	workloads := ctrl.NewControllerManagedBy(mgr).Named("multikueue_workload").For(&kueue.Workload{}, builder.WithPredicates(r.orphans.deletionRecorder()))
	for _, s := range r.hubWatches() {
		workloads = workloads.Watches(s.object, handler.EnqueueRequestsFromMapFunc(s.mapFunc), builder.WithPredicates(s.predicate))
	}
	c, err := workloads.
		Watches(&kueue.ClusterQueue{}, queueDeletionHandler()).
		WatchesRawSource(r.Fleet.WorkloadRequests().Source()).
		WithOptions(kube.ControllerOptions()).
		Build(r)
	if err != nil {
		return fmt.Errorf("controller of workloads: %w", err)
	}
	if r.declared != nil {
		r.declared.attach(r, c)
	}
	for _, kind := range r.Kinds {
		if err := mgr.Add(r.newJobWatch(mgr, c, kind)); err != nil {
			return fmt.Errorf("watch of jobs: %w", err)
		}
	}
	return nil
}

// newJobWatch lets events of the hub's jobs of a kind look at their Workloads. Kinds that may not be served yet are watched
// once they are.
func (r *WorkloadReconciler) newJobWatch(mgr ctrl.Manager, c ctrlcontroller.Controller, kind job.Integration) manager.Runnable {
	if o := r.externalCaches[kind.GVK()]; o != nil {
		return &external.Watch{Controller: c, Cache: o, MapFunc: r.index.requestsForJob(kind), Predicate: jobEventPredicate}
	}
	return &jobWatch{manager: mgr, controller: c, reconciler: r, kind: kind}
}

// setupIdentities adds the controller that reports which clusters these are.
func setupIdentities(mgr ctrl.Manager, r *WorkloadReconciler) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("multikueue_identity").
		For(&kueue.MultiKueueCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.Fleet.ClusterRequests().Source()).
		WithOptions(kube.ControllerOptions()).
		Complete(&IdentityReconciler{Client: mgr.GetClient(), Reconciler: r, Recorder: mgr.GetEventRecorder(cluster.RecorderName), Clock: clock.RealClock{}})
	if err != nil {
		return fmt.Errorf("controller of identities: %w", err)
	}
	return nil
}

// jobWatch makes the reconciler look at the Workload of a hub job with news, see jobWatch. It begins once the hub serves the kind.
type jobWatch struct {
	manager    ctrl.Manager
	controller ctrlcontroller.Controller
	reconciler *WorkloadReconciler
	kind       job.Integration
}

// kindPollInterval is how often to look for a kind that the hub does not serve yet.
const kindPollInterval = 10 * time.Second

var _ manager.LeaderElectionRunnable = (*jobWatch)(nil)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *jobWatch) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (w *jobWatch) Start(ctx context.Context) error {
	late := false
	for {
		_, err := w.manager.GetRESTMapper().RESTMapping(w.kind.GVK().GroupKind(), w.kind.GVK().Version)
		if err == nil {
			break
		}
		if !meta.IsNoMatchError(err) {
			ctrl.LoggerFrom(ctx).Error(err, "Look for a kind of job", "kind", w.kind.GVK())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(kindPollInterval):
			late = true
		}
	}
	s := w.reconciler.jobHubWatch(w.kind, late)
	return w.controller.Watch(source.Kind(w.manager.GetCache(), s.object, handler.EnqueueRequestsFromMapFunc(s.mapFunc), s.predicate))
}
