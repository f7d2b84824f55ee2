package multikueue

import (
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck/multikueue/controller"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Setup adds the multikueue check to the manager of a hub, as a defaulted and validated configuration asks. Of the
// integrations, those that can be mirrored are. The manager's scheme must know all of them, and its cache must hold the
// Secrets of the hub's own namespace. Everything runs on the leader only.
func Setup(mgr ctrl.Manager, cfg *configapi.Configuration, integrations ...job.Integration) error {
	gates, err := features.New(cfg.FeatureGates)
	if err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	if !gates.Enabled(features.MultiKueue) {
		return nil
	}
	if *cfg.MultiKueue.DispatcherName == kueue.IncrementalDispatcherName {
		return fmt.Errorf("multiKueue.dispatcherName %s is not built in yet: nobody would nominate clusters; use %s, or the name of your own dispatcher",
			kueue.IncrementalDispatcherName, kueue.AllAtOnceDispatcherName)
	}
	return controller.Setup(context.Background(), mgr, controller.Settings{
		Origin: *cfg.MultiKueue.Origin, Policy: policy(cfg.MultiKueue),
		GCInterval: cfg.MultiKueue.GCInterval.Duration, Namespace: *cfg.Namespace,
		Kinds:       slices.DeleteFunc(slices.Clone(integrations), func(i job.Integration) bool { return !i.Mirrorable() }),
		NameInLabel: !gates.Enabled(features.WorkloadIdentifierAnnotations),
		Profiles:    gates.Enabled(features.MultiKueueClusterProfile),
	})
}

// policy is what the configuration says about dispatching. Every dispatcher but the built-in default nominates from
// outside of the check.
func policy(m *configapi.MultiKueue) dispatch.Policy {
	p := dispatch.Compatible(m.WorkerLostTimeout.Duration)
	if *m.DispatcherName != kueue.AllAtOnceDispatcherName {
		p.Dispatcher = dispatch.External
	}
	return p
}
