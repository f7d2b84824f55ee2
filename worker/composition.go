package worker

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/apiserver"
	"switchyard.dev/worker/controller/jobkind"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/manager"
	"switchyard.dev/worker/workload"
)

// Composition is what a program is made of: the engine, as the fields say, and further parts. Compose makes that of the engine
// alone. A program that does more sets fields and adds parts, before Build.
type Composition struct {
	// Settings are those of the program.
	Settings manager.Settings
	// Kinds are the kinds of job that the program reconciles.
	Kinds []job.Integration
	// PrepareAdmission are called in this order for an admission that is about to be written: see scheduler.Config.
	PrepareAdmission []func(wl *kueue.Workload, now time.Time)
	// DispatchesJobs says that the program is a hub: it hands jobs to other clusters. Then a part of it must say when a job that
	// is evicted has stopped there.
	DispatchesJobs bool
	// ReportsCapacity says that the program publishes what room there is, for the dispatchers of hubs.
	ReportsCapacity bool
	// JobKinds, optional, is told of the kinds of job that JobKinds declare.
	JobKinds jobkind.Listener
	// APIGroups are served by the program's own API server, besides that of the engine. There is no such server without a group.
	APIGroups []apiserver.NewGroup
	// Parts are added after those of the engine, in this order.
	Parts []manager.Part
}

// Compose returns the composition of the engine. An error says what is wrong with the settings.
func Compose(s manager.Settings) (*Composition, error) {
	kinds, err := Kinds(s)
	if err != nil {
		return nil, err
	}
	return &Composition{Settings: s, Kinds: kinds, ReportsCapacity: true}, nil
}

// Build makes all parts, and what reads the metrics that they count. An error says what is wrong with the settings.
func (c *Composition) Build() ([]manager.Part, prometheus.Gatherer, error) {
	engine, err := newEngine(c)
	if err != nil {
		return nil, nil, err
	}
	integrations, err := engine.integrations()
	if err != nil {
		return nil, nil, err
	}
	parts := slices.Concat(engine.ownParts(), integrations, c.Parts)
	// Last: a group may serve what another part has made.
	if groups := engine.apiGroups(); len(groups) > 0 {
		parts = append(parts, apiserver.Part(c.Settings, groups))
	}
	return parts, engine.gatherer, nil
}

// preparations are what completes an admission: what the program asks for and, where pods are waited for, that they have not
// been ready.
func (c *Composition) preparations() []func(*kueue.Workload, time.Time) {
	if !waitsForPodsReady(c.Settings) {
		return c.PrepareAdmission
	}
	return append(slices.Clone(c.PrepareAdmission), workload.SetPodsNotReady)
}
