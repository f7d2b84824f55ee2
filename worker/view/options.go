package view

import (
	"math"

	"switchyard.dev/apis/config/features"
	config "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/podrequests"
)

// Options are the settings that change what a workload asks for and what its place in its queue is.
type Options struct {
	// OrderByCreation keeps a workload that was evicted by PodsReadyTimeout at its place by creation; otherwise its
	// eviction counts (contract: kueue-api.md 4.2 row 4; waitForPodsReady.requeuingStrategy.timestamp).
	OrderByCreation bool
	// PartialAdmission lets workloads start with fewer pods, down to their minCount (contract: kueue-api.md 4.9).
	PartialAdmission bool
	// WithoutReclaimablePods has every pod of a set need quota until its workload ends, whatever status.reclaimablePods says (gate
	// ReclaimablePods off; contract: messages.md 5.5).
	WithoutReclaimablePods bool
	// Topologies makes a ClusterQueue inactive while a flavor of it names a Topology that does not exist (contract:
	// kueue-api.md 1.13, gate TopologyAwareScheduling).
	Topologies bool
	// ElasticJobs lets slices of elastic jobs take over from each other (contract: job-kinds.md 15).
	ElasticJobs bool
	// PriorityBoost adds the annotation priority-boost to the priority (contract: kueue-api.md 4.16).
	PriorityBoost bool
	// PodRequests says which resources count, and as what.
	PodRequests podrequests.Rules
	// Usage orders LocalQueues by recent usage, in the ClusterQueues that ask for it; nil in none (contract:
	// kueue-api.md 4.14).
	Usage *usage.Options
}

// OptionsFor are the options that a configuration with defaults and its feature gates ask for.
func OptionsFor(cfg *config.Configuration, gates features.Set) Options {
	o := Options{
		PartialAdmission: gates.Enabled(features.PartialAdmission),
		Topologies:       gates.Enabled(features.TopologyAwareScheduling),
		PriorityBoost:    gates.Enabled(features.PriorityBoost),
		ElasticJobs:      gates.Enabled(features.ElasticJobsViaWorkloadSlices),

		WithoutReclaimablePods: !gates.Enabled(features.ReclaimablePods),

		PodRequests: podrequests.NewRules(cfg.Resources),
		Usage:       usageOptions(cfg.AdmissionFairSharing),
	}
	if w := cfg.WaitForPodsReady; w != nil && w.RequeuingStrategy != nil && w.RequeuingStrategy.Timestamp != nil {
		o.OrderByCreation = *w.RequeuingStrategy.Timestamp == config.CreationTimestamp
	}
	return o
}

// usageOptions returns the options of recent usage; nil if the configuration does not ask for it.
func usageOptions(cfg *config.AdmissionFairSharing) *usage.Options {
	if cfg == nil {
		return nil
	}
	o := &usage.Options{HalfLife: cfg.UsageHalfLifeTime.Duration, Interval: cfg.UsageSamplingInterval.Duration}
	for name, weight := range cfg.ResourceWeights {
		billionths := int64(min(max(math.Round(weight*quota.UnitWeight), 0), math.MaxInt64/2))
		o.Weights = append(o.Weights, usage.ResourceWeight{Resource: string(name), Weight: quota.NewWeight(billionths)})
	}
	return o
}
