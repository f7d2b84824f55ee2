package worker

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/apis/config/features"
	"switchyard.dev/worker/controller/jobkind"
	"switchyard.dev/worker/controller/workload"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
	"switchyard.dev/worker/job/podgate"
	"switchyard.dev/worker/job/podgroup"
	"switchyard.dev/worker/manager"
	"switchyard.dev/worker/metrics"
)

// Kinds are the compiled-in kinds of job that the configuration names, in the order of the catalogue. An error names one
// that is not compiled in.
func Kinds(s manager.Settings) ([]job.Integration, error) {
	var kinds []job.Integration
	names := all.Names()
	for _, kind := range all.Kinds() {
		if slices.Contains(s.Integrations.Frameworks, kind.Name()) {
			kinds = append(kinds, kind)
		}
	}
	for _, name := range s.Integrations.Frameworks {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("integrations.frameworks: %q is not one of %q", name, names)
		}
	}
	return kinds, nil
}

// isEnabled tells whether the configuration asks for a framework, by its name or by that of another that needs it.
func isEnabled(s manager.Settings, f job.Framework) bool {
	if f.Name() == podgroup.Name {
		return podgroup.IsServed(s.Integrations.Frameworks)
	}
	return slices.Contains(s.Integrations.Frameworks, f.Name())
}

// frameworks are all that are compiled in, kinds of job and others.
func frameworks() []job.Framework {
	var list []job.Framework
	for _, kind := range all.Kinds() {
		list = append(list, kind)
	}
	return append(list, all.Frameworks()...)
}

// integrations has a part for every compiled-in kind, and one for jobs of all others. The webhooks of a kind that is not enabled
// are there and do nothing, so that one static webhook configuration fits all settings.
func (e *engine) integrations() ([]manager.Part, error) {
	s, kinds := e.Settings, e.Kinds
	options, err := jobOptions(s, kinds)
	if err != nil {
		return nil, err
	}
	options.Created, options.Ungated, options.Stale = e.metrics.ObserveCreation, e.metrics.ObserveUngated, e.epochs.ValidateCreate
	options.Dispatches, options.Follow = e.DispatchesJobs, e.followedObjects.Follow
	gates := podgate.New(e.clock)
	gates.Ungated = e.metrics.ObserveUngated
	scales := options.Gates.ElasticJobs && slices.ContainsFunc(kinds, job.Integration.Scales)
	if scales {
		options.ElasticPods = gates
	}
	var parts []manager.Part
	for _, kind := range frameworks() {
		enabled := isEnabled(s, kind)
		parts = append(parts, manager.Part{Name: kind.Name(), Add: func(_ context.Context, mgr ctrl.Manager) error {
			if err := kind.SetupWebhook(mgr, options, enabled); err != nil || !enabled {
				return err
			}
			return kind.Setup(mgr, options)
		}})
	}
	e.configured = jobkind.New(e.configuredKinds(options))
	parts = append(parts, manager.Part{Name: "configured jobs", Add: func(_ context.Context, mgr ctrl.Manager) error { return e.configured.Setup(mgr) }})
	if scales {
		parts = append(parts, manager.Part{Name: "pods of elastic jobs", Add: func(ctx context.Context, mgr ctrl.Manager) error {
			gates.Client = mgr.GetClient()
			return gates.Setup(ctx, mgr)
		}})
	}
	return append(parts, manager.Part{Name: "external jobs", Add: func(_ context.Context, mgr ctrl.Manager) error {
		mgr.GetWebhookServer().Register(job.ExternalWebhookPath, job.ExternalWebhook(options))
		return nil
	}}), nil
}

// configuredKinds are the options for kinds that JobKinds declare. The fence does not follow them: their declarations do not say how their
// controllers show that they have acted.
func (e *engine) configuredKinds(jobs job.Options) jobkind.Options {
	jobs.Follow = nil
	o := jobkind.Options{Jobs: jobs, External: externalFrameworks(e.Settings), Clock: jobs.Clock, Listener: e.JobKinds}
	for _, kind := range frameworks() {
		o.BuiltIn = append(o.BuiltIn, kind.GVK())
	}
	return o
}

func jobOptions(s manager.Settings, kinds []job.Integration) (job.Options, error) {
	namespaces, err := metav1.LabelSelectorAsSelector(s.ManagedJobsNamespaceSelector)
	if err != nil {
		return job.Options{}, fmt.Errorf("managedJobsNamespaceSelector: %w", err)
	}
	policy := workload.PolicyFor(s.Configuration, s.Gates)
	labelKeys, annotationKeys := metrics.WorkloadLabelKeys(s.Configuration, s.Gates)
	return job.Options{
		ManageJobsWithoutQueueName: s.ManageJobsWithoutQueueName,
		Namespaces:                 namespaces,
		LabelKeysToCopy:            append(slices.Clone(s.Integrations.LabelKeysToCopy), labelKeys...),
		AnnotationKeysToCopy:       annotationKeys,
		WaitForPodsReady:           policy.PodsReady != nil,
		KeepDeactivated:            policy.DeactivatedRetention,
		PodsOfOthersOnly:           !slices.Contains(s.Integrations.Frameworks, podgroup.Name),
		Kinds:                      kinds,
		Known:                      all.Kinds(),
		ExternalFrameworks:         externalFrameworks(s),
		Concurrency:                s.Controller.GroupKindConcurrency,
		Gates:                      jobGates(s.Gates),
		Clock:                      clock.RealClock{},
	}, nil
}

// jobGates turns the feature gates that matter to jobs into what the framework understands.
func jobGates(gates features.Set) job.Gates {
	return job.Gates{
		PartialAdmission:              gates.Enabled(features.PartialAdmission),
		ReclaimablePods:               gates.Enabled(features.ReclaimablePods),
		AdmissionGatedBy:              gates.Enabled(features.AdmissionGatedBy),
		AssignQueueLabelsForPods:      gates.Enabled(features.AssignQueueLabelsForPods),
		WorkloadIdentifierAnnotations: gates.Enabled(features.WorkloadIdentifierAnnotations),
		WorkloadPriorityClassDefault:  gates.Enabled(features.WorkloadPriorityClassDefaulting),
		ShortWorkloadNames:            gates.Enabled(features.ShortWorkloadNames),
		FinishOrphanedWorkloads:       gates.Enabled(features.FinishOrphanedWorkloads),
		ReleasesPodsForGood:           gates.Enabled(features.SkipReassignmentForPodOwnedWorkloads),
		FastQuotaRelease:              gates.Enabled(features.FastQuotaReleaseInPodIntegration),
		ValidateGroupOwner:            gates.Enabled(features.PodIntegrationValidateGroupOwner),
		ElasticJobs:                   gates.Enabled(features.ElasticJobsViaWorkloadSlices),
		Topology:                      gates.Enabled(features.TopologyAwareScheduling),
		MultiLayerTopology:            gates.Enabled(features.TASMultiLayerTopology),
		DeferRayServiceFinalization:   gates.Enabled(features.DeferRayServiceFinalizationForRedisCleanup),
		ValidateRayAndSparkUpdates:    gates.Enabled(features.ValidateRayAndSparkJobUpdates),
		ImmutableGroupSize:            gates.Enabled(features.LWSImmutableGroupSize),
	}
}

// externalFrameworks parses names of the form Kind.version.group, which validation has let pass.
func externalFrameworks(s manager.Settings) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, name := range s.Integrations.ExternalFrameworks {
		if gvk, _ := schema.ParseKindArg(name); gvk != nil {
			kinds = append(kinds, *gvk)
		}
	}
	return kinds
}
