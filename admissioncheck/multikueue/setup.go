package multikueue

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/controller"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/controller/jobkind"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/podrequests"
)

// Check is the multikueue check of one hub. The zero value is one that has not been set up yet.
type Check struct {
	resolver atomic.Pointer[controller.WorkloadReconciler]
	declared controller.DeclaredKinds
}

// JobKinds is to be told of the kinds that JobKinds declare: their jobs are dispatched as those of the others are.
func (c *Check) JobKinds() jobkind.Listener { return &c.declared }

// Prepare nominates clusters for a Workload whose reservation is about to be written, so that the two are one write. It
// reads caches only, may be called by several goroutines at once, and does nothing before Setup or where there is nothing
// to nominate; the check then does the same a little later, in a write of its own.
func (c *Check) Prepare(wl *kueue.Workload, now time.Time) {
	if r := c.resolver.Load(); r != nil {
		r.NominateClusters(context.Background(), wl, now)
	}
}

// Setup adds the multikueue check to the manager of a hub, as a defaulted and validated configuration asks. Of the
// integrations, those that can be mirrored are. The manager's scheme must know all of them, and its cache must hold the
// Secrets of the hub's own namespace. Everything runs on the leader only.
func (c *Check) Setup(mgr ctrl.Manager, cfg *configapi.Configuration, integrations ...job.Integration) error {
	gates, err := features.New(cfg.FeatureGates)
	if err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	if !gates.Enabled(features.MultiKueue) {
		return nil
	}
	settings := newSettings(cfg, gates, integrations)
	settings.Declared = &c.declared
	resolver, err := controller.Setup(context.Background(), mgr, settings)
	if err != nil {
		return err
	}
	c.resolver.Store(resolver)
	return nil
}

// MirroredKinds are the kinds of job that a hub can run elsewhere: those of the integrations that can be, and multiKueue.externalFrameworks.
func MirroredKinds(cfg *configapi.Configuration, gates features.Set, integrations ...job.Integration) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, kind := range mirroredKinds(cfg.MultiKueue, gates, integrations) {
		kinds = append(kinds, kind.GVK())
	}
	return kinds
}

// newSettings are what the check is told by a configuration, its gates, and the integrations that were compiled in.
func newSettings(cfg *configapi.Configuration, gates features.Set, integrations []job.Integration) controller.Settings {
	return controller.Settings{
		Origin: *cfg.MultiKueue.Origin, Policy: policy(cfg.MultiKueue, gates),
		GCInterval: cfg.MultiKueue.GCInterval.Duration, Namespace: *cfg.Namespace,
		Kinds:             mirroredKinds(cfg.MultiKueue, gates, integrations),
		NameInLabel:       !gates.Enabled(features.WorkloadIdentifierAnnotations),
		CredentialSources: credentialSources(cfg.MultiKueue, gates),
		PodRequestRules:   podrequests.NewRules(cfg.Resources),
		WaitForPodsReady:  cfg.WaitForPodsReady != nil && !cfg.WaitForPodsReady.Disabled && !gates.Enabled(features.DisableWaitForPodsReady),

		QuotaAutomation: gates.Enabled(features.MultiKueueManagerQuotaAutomation),
	}
}

// mirroredKinds are those of the integrations that can be mirrored and, with the gate on, the kinds that the configuration adds
// (contract: kueue-api.md 3.4). A kind is known by its group and name alone, so of several versions the first one counts.
func mirroredKinds(m *configapi.MultiKueue, gates features.Set, integrations []job.Integration) []job.Integration {
	kinds := slices.DeleteFunc(slices.Clone(integrations), func(i job.Integration) bool { return !i.Mirrorable() })
	if !gates.Enabled(features.MultiKueueAdaptersForCustomJobs) {
		return kinds
	}
	for _, external := range m.ExternalFrameworks {
		gvk, _ := schema.ParseKindArg(external.Name)
		if gvk == nil || slices.ContainsFunc(kinds, func(i job.Integration) bool { return i.GVK().GroupKind() == gvk.GroupKind() }) {
			continue
		}
		kinds = append(kinds, job.External(*gvk))
	}
	return kinds
}

const (
	// leaseDuration is how long workers go on without a word from the hub, where a policy makes them stop at all.
	leaseDuration = 40 * time.Second
	// skewMargin is how much the clocks of hub and worker may differ, and how long the worker's program may take to act on a
	// lease that has run out, together: 5 s for the clocks, and 55 s for its look, another of its programs to take over, and the
	// writes of its jobs, some 2,000 by default. A fence says if it may take longer, and then does not count.
	skewMargin = time.Minute
)

// policy is what the configuration says about dispatching. Every dispatcher that is not built in nominates from outside of
// the check.
func policy(m *configapi.MultiKueue, gates features.Set) dispatch.Policy {
	p := dispatch.Compatible(m.WorkerLostTimeout.Duration)
	p.LeaseDuration, p.SkewMargin = leaseDuration, skewMargin
	p.RetainFinished = m.RetainFinished()
	p.SyncSpec = gates.Enabled(features.MultiKueueRemoteSpecSync)
	p.OrchestratePreemption = gates.Enabled(features.MultiKueueOrchestratedPreemption)
	switch *m.DispatcherName {
	case kueue.AllAtOnceDispatcherName:
	case switchyard.BestFitDispatcherName:
		p.Dispatcher = dispatch.BestFit
	case kueue.IncrementalDispatcherName:
		p.Dispatcher = dispatch.Incremental
		if gates.Enabled(features.MultiKueueIncrementalDispatcherConfig) {
			p.StepSize = int(*m.IncrementalDispatcherConfig.StepSize)
		}
		p.ByName = !gates.Enabled(features.MultiKueueIncrementalDispatcherRespectConfigOrder)
	default:
		p.Dispatcher = dispatch.External
	}
	return p
}

// credentialSources is what the configuration says about the credentials of clusters.
func credentialSources(m *configapi.MultiKueue, gates features.Set) cluster.CredentialSources {
	return cluster.CredentialSources{
		AllowAnyPath:  !gates.Enabled(features.MultiKueueKubeConfigPathValidation),
		AllowProfiles: gates.Enabled(features.MultiKueueClusterProfile),
		Providers:     m.ClusterProfile.Providers(),
	}
}
