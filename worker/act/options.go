package act

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	config "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/view"
)

// CycleOptions are the settings of the cycle that a configuration asks for.
func CycleOptions(cfg *config.Configuration) cycle.Options {
	return cycle.Options{
		MaxAdmissions:    DefaultMaxAdmissions,
		IgnoreUndeclared: cfg.Resources != nil && cfg.Resources.QuotaCheckStrategy == config.IgnoreUndeclared,
	}
}

// MetricsOptionsFor are the series that a configuration asks for (contract: kueue-api.md 5, 7).
func MetricsOptionsFor(cfg *config.Configuration, v *view.View) (MetricsOptions, error) {
	opts := MetricsOptions{Resources: cfg.Metrics.EnableClusterQueueResources}
	local := cfg.Metrics.LocalQueueMetrics
	if local == nil || !ptr.Deref(local.Enable, true) {
		return opts, nil
	}
	selector := labels.Everything()
	if local.LocalQueueSelector != nil {
		var err error
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
