package metrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	config "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/view"
)

// WithCustomLabels returns a gatherer with the custom labels that come from queues and cohorts put on as metrics are read
// (contract: kueue-api.md 5). So they are those of the object as it is now. Labels of Workloads are counted apart, see Options.
//
// What was counted of a queue begins anew when a label of it changes (contract: messages.md 6.2); m forgets it then.
func WithCustomLabels(inner prometheus.Gatherer, v *view.View, m *Metrics, opts Options) prometheus.Gatherer {
	g := customGatherer{Gatherer: inner, view: v, metrics: m, lastSeen: &lastSeenLabels{values: map[string]string{}}, sources: []labelSource{
		{labels: filterLabels(opts.CustomLabels, config.SourceKindCohort), objectFor: cohortLookup(v)},
		{labels: filterLabels(opts.CustomLabels, config.SourceKindLocalQueue), objectFor: localQueueLookup(v)},
		{labels: filterLabels(opts.CustomLabels, config.SourceKindClusterQueue), objectFor: clusterQueueLookup(v)},
	}}
	if !slices.ContainsFunc(g.sources, func(s labelSource) bool { return len(s.labels) > 0 }) {
		return inner
	}
	return g
}

type customGatherer struct {
	prometheus.Gatherer
	sources  []labelSource
	view     *view.View
	metrics  *Metrics
	lastSeen *lastSeenLabels
}

// lastSeenLabels is what the labels of queues were when metrics were read last.
type lastSeenLabels struct {
	mu     sync.Mutex
	values map[string]string
}

// labelSource is a kind of object that labels come from; of finds the one that a metric is about.
type labelSource struct {
	labels    customLabels
	objectFor func(family string, m *dto.Metric) (metav1.Object, bool)
}

// Gather implements prometheus.Gatherer.
func (g customGatherer) Gather() ([]*dto.MetricFamily, error) {
	g.deleteChangedSeries()
	families, err := g.Gatherer.Gather()
	for _, family := range families {
		for _, m := range family.Metric {
			for _, s := range g.sources {
				if object, about := s.objectFor(family.GetName(), m); about {
					m.Label = withLabels(m.Label, s.labels.names(), s.labels.values(object))
					break
				}
			}
		}
	}
	return families, err
}

// deleteChangedSeries drops what was counted of queues that have other labels than when metrics were read last.
func (g customGatherer) deleteChangedSeries() {
	g.lastSeen.mu.Lock()
	defer g.lastSeen.mu.Unlock()
	was, is := g.lastSeen.values, map[string]string{}
	look := func(key string, values []string, drop func()) {
		is[key] = strings.Join(values, "\x00")
		if before, known := was[key]; known && before != is[key] && g.metrics != nil {
			drop()
		}
	}
	ofLocals, ofClusters := g.sources[1].labels, g.sources[2].labels
	for _, key := range g.view.LocalQueueNames() {
		look(key.String(), ofLocals.values(g.view.LocalQueueMetadata(key)), func() { g.metrics.DeleteLocalQueue(key) })
	}
	for _, name := range g.view.ClusterQueueNames() {
		look(name, ofClusters.values(g.view.ClusterQueueMetadata(name)), func() { g.metrics.DeleteClusterQueue(name) })
	}
	g.lastSeen.values = is
}

const (
	cohortPrefix     = "kueue_cohort_"
	localQueuePrefix = "kueue_local_queue_"
	queuePrefix      = "kueue_"
)

func cohortLookup(v *view.View) func(string, *dto.Metric) (metav1.Object, bool) {
	return func(family string, m *dto.Metric) (metav1.Object, bool) {
		name, found := findLabel(m, "cohort")
		if !found || !strings.HasPrefix(family, cohortPrefix) {
			return nil, false
		}
		return v.CohortMetadata(name), true
	}
}

// localQueueLookup returns what finds the LocalQueue that a metric is about; false for metrics about other things.
func localQueueLookup(v *view.View) func(string, *dto.Metric) (metav1.Object, bool) {
	return func(family string, m *dto.Metric) (metav1.Object, bool) {
		namespace, _ := findLabel(m, "namespace")
		name, found := findLabel(m, "name")
		if !found || !strings.HasPrefix(family, localQueuePrefix) {
			return nil, false
		}
		return v.LocalQueueMetadata(types.NamespacedName{Namespace: namespace, Name: name}), true
	}
}

// clusterQueueLookup returns what finds the ClusterQueue that a metric is about; false for metrics about other things.
func clusterQueueLookup(v *view.View) func(string, *dto.Metric) (metav1.Object, bool) {
	return func(family string, m *dto.Metric) (metav1.Object, bool) {
		if !strings.HasPrefix(family, queuePrefix) || strings.HasPrefix(family, localQueuePrefix) {
			return nil, false
		}
		for _, label := range []string{"cluster_queue", "preempting_cluster_queue"} {
			if name, found := findLabel(m, label); found {
				return v.ClusterQueueMetadata(name), true
			}
		}
		return nil, false
	}
}

func findLabel(m *dto.Metric, name string) (string, bool) {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue(), true
		}
	}
	return "", false
}

// withLabels returns a new list, in the order of names that encoders expect: the old one is shared by all readings.
func withLabels(labels []*dto.LabelPair, names, values []string) []*dto.LabelPair {
	if len(names) == 0 {
		return labels
	}
	all := slices.Clone(labels)
	for i := range names {
		all = append(all, &dto.LabelPair{Name: &names[i], Value: &values[i]})
	}
	slices.SortFunc(all, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}
