// Package hub is the composition root of a hub: all that a worker has, and the multikueue check that hands workloads with
// quota to worker clusters. To the engine that is one more admission check; everything a hub does beyond is added here.
package hub

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck"
	"switchyard.dev/admissioncheck/multikueue"
	"switchyard.dev/apis/config/features"
	"switchyard.dev/worker"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
	"switchyard.dev/worker/manager"
)

// Compose returns the composition of a hub; that of a worker where the gate MultiKueue is off. An error says what is wrong with
// the settings.
func Compose(s manager.Settings) (*worker.Composition, error) {
	c, err := admissioncheck.Compose(s)
	if err != nil || !s.Gates.Enabled(features.MultiKueue) {
		return c, err
	}
	check := &multikueue.Check{}
	c.PrepareAdmission = append(c.PrepareAdmission, check.Prepare)
	c.JobKinds = check.JobKinds()
	c.DispatchesJobs = true
	// No dispatcher asks a hub what room it has, and the answer would cost a write whenever a job comes or goes.
	c.ReportsCapacity = false
	c.Parts = append(c.Parts, manager.Part{Name: "multikueue", Add: func(_ context.Context, mgr ctrl.Manager) error {
		return check.Setup(mgr, s.Configuration, dispatchedKinds(c)...)
	}})
	return c, nil
}

// dispatchedKinds are what the hub can run elsewhere: its kinds of job and, where the configuration names them, what waits pod by pod
// (contract: job-kinds.md 10.8, 12, 13).
func dispatchedKinds(c *worker.Composition) []job.Integration {
	kinds := slices.Clone(c.Kinds)
	for _, kind := range all.Mirrored() {
		if slices.Contains(c.Settings.Integrations.Frameworks, kind.Name()) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
