package act

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// customPrefix is what the names of custom labels begin with (contract: kueue-api.md 5).
const customPrefix = "custom_"

// maxOfJobs is how many custom labels may come from Workloads (contract: kueue-api.md 7).
const maxOfJobs = 2

// customLabels are labels that metrics get from objects of one kind, in the order of the configuration.
type customLabels []config.CustomLabel

// labelsOf picks those that come from objects of the kind.
func labelsOf(all []config.CustomLabel, kind config.SourceKind) customLabels {
	var list customLabels
	for _, l := range all {
		if l.SourceKind == kind || l.SourceKind == "" && kind == config.SourceKindClusterQueue {
			list = append(list, l)
		}
	}
	return list
}

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
		values[i] = valueOf(label, object)
	}
	return values
}

// valueOf is empty where the object does not have the label or annotation, which is not taken for a value.
func valueOf(label config.CustomLabel, object metav1.Object) string {
	value, found := object.GetLabels()[label.SourceLabelKey]
	if label.SourceAnnotationKey != "" {
		value, found = object.GetAnnotations()[label.SourceAnnotationKey]
	}
	switch {
	case !found:
		return ""
	case len(label.TrackedValues) > 0 && !slices.Contains(label.TrackedValues, value):
		return kueue.UntrackedMetricLabelValue
	default:
		return value
	}
}

// ofJob are the values that a Workload gives; those beyond the number of labels are empty.
type ofJob [maxOfJobs]string

func (l customLabels) ofJob(wl *kueue.Workload) ofJob {
	var of ofJob
	copy(of[:], l.values(wl))
	return of
}

// list has as many values as there are labels.
func (l customLabels) list(of ofJob) []string { return of[:min(len(l), maxOfJobs)] }
