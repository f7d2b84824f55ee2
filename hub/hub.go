// Package hub is the composition root of a hub: all that a worker has, and the multikueue check that hands workloads with
// quota to worker clusters. To the engine that is one more admission check; everything a hub does beyond is added here.
package hub

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck"
	"switchyard.dev/admissioncheck/multikueue"
	"switchyard.dev/apis/config/features"
	"switchyard.dev/worker"
	"switchyard.dev/worker/manager"
)

// Scheme is that of the engine: remote objects are of the same kinds as local ones.
func Scheme() (*runtime.Scheme, error) { return worker.Scheme() }

// Parts composes a hub. An error says what is wrong with the settings.
func Parts(s manager.Settings) ([]manager.Part, error) {
	if !s.Gates.Enabled(features.MultiKueue) {
		return admissioncheck.Parts(s)
	}
	check := &multikueue.Check{}
	parts, err := admissioncheck.PartsWith(s, check.Prepare)
	if err != nil {
		return nil, err
	}
	kinds, err := worker.Kinds(s)
	if err != nil {
		return nil, err
	}
	// No dispatcher asks a hub what room it has, and the answer would cost a write whenever a job comes or goes.
	parts = slices.DeleteFunc(parts, func(p manager.Part) bool { return p.Name == worker.CapacityPart })
	return append(parts, manager.Part{Name: "multikueue", Add: func(_ context.Context, mgr ctrl.Manager) error {
		return check.Setup(mgr, s.Configuration, kinds...)
	}}), nil
}
