package metrics

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/config/features"
	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// customPrefix is what the names of custom labels begin with (contract: kueue-api.md 5).
const customPrefix = "custom_"

// maxWorkloadLabels is how many custom labels may come from Workloads (contract: kueue-api.md 7).
const maxWorkloadLabels = 2

// customLabels are labels that metrics get from objects of one kind, in the order of the configuration.
type customLabels []config.CustomLabel

// filterLabels picks those that come from objects of the kind.
func filterLabels(all []config.CustomLabel, kind config.SourceKind) customLabels {
	var list customLabels
	for _, l := range all {
		if l.SourceKind == kind || l.SourceKind == "" && kind == config.SourceKindClusterQueue {
			list = append(list, l)
		}
	}
	return list
}

// names are the labels that the configuration adds to metrics, with the prefix that keeps them apart from the metrics' own.
func (l customLabels) names() []string {
	var names []string
	for _, label := range l {
		names = append(names, customPrefix+label.Name)
	}
	return names
}

// values are what an object gives the labels; nil gives nothing.
func (l customLabels) values(object metav1.Object) []string {
	values := make([]string, len(l))
	if object == nil {
		return values
	}
	for i, label := range l {
		values[i] = labelValueFrom(label, object)
	}
	return values
}

// labelValueFrom is that of the annotation, else of the label, else of the label named like the custom one; empty where the object does
// not have it. Where values are listed every other, also the empty one, is the untracked (contract: messages.md 6.2).
func labelValueFrom(label config.CustomLabel, object metav1.Object) string {
	value := object.GetLabels()[cmp.Or(label.SourceLabelKey, label.Name)]
	if label.SourceAnnotationKey != "" {
		value = object.GetAnnotations()[label.SourceAnnotationKey]
	}
	if len(label.TrackedValues) > 0 && !slices.Contains(label.TrackedValues, value) {
		return kueue.UntrackedMetricLabelValue
	}
	return value
}

// workloadLabelValues are the values that a Workload gives; those beyond the number of labels are empty.
type workloadLabelValues [maxWorkloadLabels]string

func (l customLabels) workloadValues(wl *kueue.Workload) workloadLabelValues {
	var of workloadLabelValues
	copy(of[:], l.values(wl))
	return of
}

// valueList has as many values as there are labels.
func (l customLabels) valueList(of workloadLabelValues) []string {
	return of[:min(len(l), maxWorkloadLabels)]
}

// WorkloadLabelKeys are the keys of labels and annotations that custom labels read from Workloads: jobs pass them on to theirs
// (contract: messages.md 6.2; gate CustomMetricLabels).
func WorkloadLabelKeys(cfg *config.Configuration, gates features.Set) (labels, annotations []string) {
	if !gates.Enabled(features.CustomMetricLabels) {
		return nil, nil
	}
	for _, l := range filterLabels(cfg.Metrics.CustomLabels, config.SourceKindWorkload) {
		if l.SourceAnnotationKey != "" {
			annotations = append(annotations, l.SourceAnnotationKey)
		} else {
			labels = append(labels, cmp.Or(l.SourceLabelKey, l.Name))
		}
	}
	return labels, annotations
}
