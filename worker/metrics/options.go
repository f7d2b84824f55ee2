package metrics

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config/features"
	config "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/view"
)

// Options choose the series (contract: kueue-api.md 5).
type Options struct {
	// LocalQueues selects the LocalQueues that get series of their own; nil selects none.
	LocalQueues func(types.NamespacedName) bool
	// Info adds the series that say where in the tree queues and cohorts are (gate MetricsForCohorts).
	Info bool
	// CohortsAbove lists the cohorts above a ClusterQueue, nearest first; nil stands for none.
	CohortsAbove func(queue string) []string
	// Resources adds the quotas and usages of ClusterQueues (metrics.enableClusterQueueResources).
	Resources bool
	// Shares adds the weighted shares, which only fair sharing looks at.
	Shares bool
	// Unadmitted adds why workloads are not admitted (gate UnadmittedWorkloadsObservability).
	Unadmitted bool
	// PodsReady adds how long pods take to be ready (waitForPodsReady).
	PodsReady bool
	// CreationLatency adds how long a job waits for its Workload (gate MetricForWorkloadCreationLatency).
	CreationLatency bool
	// CustomLabels are labels that come from objects (gate CustomMetricLabels). Those of Workloads are on the few metrics
	// that the contract names, the others on all metrics of their kind: see WithCustomLabels.
	CustomLabels []config.CustomLabel
}

// OptionsFor are the series that a configuration asks for (contract: kueue-api.md 5, 6, 7).
func OptionsFor(cfg *config.Configuration, v *view.View) (Options, error) {
	gates, err := features.New(cfg.FeatureGates)
	if err != nil {
		return Options{}, fmt.Errorf("read featureGates: %w", err)
	}
	on := gates.Enabled
	opts := Options{
		Info:            on(features.MetricsForCohorts),
		CohortsAbove:    v.CohortsAbove,
		Resources:       cfg.Metrics.EnableClusterQueueResources,
		Shares:          cfg.FairSharing != nil,
		Unadmitted:      on(features.UnadmittedWorkloadsObservability),
		PodsReady:       !on(features.DisableWaitForPodsReady),
		CreationLatency: on(features.MetricForWorkloadCreationLatency),
	}
	if on(features.CustomMetricLabels) {
		opts.CustomLabels = cfg.Metrics.CustomLabels
	}
	local := cfg.Metrics.LocalQueueMetrics
	if !on(features.LocalQueueMetrics) || local == nil || !ptr.Deref(local.Enable, true) {
		return opts, nil
	}
	selector := labels.Everything()
	if local.LocalQueueSelector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(local.LocalQueueSelector); err != nil {
			return opts, fmt.Errorf("read metrics.localQueueMetrics.localQueueSelector: %w", err)
		}
	}
	opts.LocalQueues = func(key types.NamespacedName) bool {
		set, known := v.LocalQueueLabels(key)
		return known && selector.Matches(set)
	}
	return opts, nil
}
