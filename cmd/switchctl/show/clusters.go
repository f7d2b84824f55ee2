package show

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Fleet is what the hub knows of its worker clusters.
type Fleet struct {
	Clusters []kueue.MultiKueueCluster
	// Configs say which clusters are asked for jobs.
	Configs []kueue.MultiKueueConfig
	// Workloads are the hub's.
	Workloads []kueue.Workload
	// Tokens says until when the token is good by which the hub reaches a cluster; clusters of which that is not known are
	// left out.
	Tokens map[string]time.Time
}

// Clusters is the table of worker clusters, in the order given.
func Clusters(f Fleet, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: append(plain("Name", "Connected", "Status", "Jobs", "Offers", "Since", "Age"),
		column("Token", wide), column("Source", wide), column("Configs", wide), column("Message", wide))}
	for i := range f.Clusters {
		c := &f.Clusters[i]
		jobs, offers := countPlaced(f.Workloads, c.Name)
		connected, since, message := connection(c)
		table.Rows = append(table.Rows, row(
			c.Name, connected, AnnotationText(c), int64(jobs), int64(offers), age(now, since), age(now, c.CreationTimestamp),
			tokenValidity(f.Tokens, c.Name, now), sourceText(c), orNone(strings.Join(ListConfigs(f.Configs, c.Name), ",")), message))
	}
	return table
}

// AnnotationText is what people say of a cluster by its annotations.
func AnnotationText(c *kueue.MultiKueueCluster) string {
	var words []string
	for _, mark := range []struct{ key, word string }{
		{switchyard.GoneAnnotation, "Gone"}, {switchyard.DrainAnnotation, "Draining"}, {switchyard.CordonedAnnotation, "Cordoned"},
	} {
		if c.Annotations[mark.key] == "true" {
			words = append(words, mark.word)
		}
	}
	if len(words) == 0 {
		return "Ready"
	}
	return strings.Join(words, ",")
}

// ListConfigs names the MultiKueueConfigs that list a cluster.
func ListConfigs(configs []kueue.MultiKueueConfig, cluster string) []string {
	var names []string
	for _, c := range configs {
		if slices.Contains(c.Spec.Clusters, cluster) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// countPlaced counts the unfinished workloads that are bound to a cluster, and those that are offered to it.
func countPlaced(workloads []kueue.Workload, cluster string) (bound, offered int) {
	for i := range workloads {
		wl := &workloads[i]
		switch {
		case meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished):
		case boundCluster(wl) == cluster:
			bound++
		case slices.Contains(wl.Status.NominatedClusterNames, cluster):
			offered++
		}
	}
	return bound, offered
}

// boundCluster is the cluster that has admitted a workload; "" for none.
func boundCluster(wl *kueue.Workload) string {
	if wl.Status.ClusterName == nil {
		return ""
	}
	return *wl.Status.ClusterName
}

// connection is what the hub says of its connection: True, False or Unknown, since when, and why.
func connection(c *kueue.MultiKueueCluster) (status string, since metav1.Time, message string) {
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.MultiKueueClusterActive)
	switch {
	case active == nil:
		return string(metav1.ConditionUnknown), metav1.Time{}, "the hub has not said anything yet"
	case active.Status == metav1.ConditionTrue:
		return string(active.Status), active.LastTransitionTime, active.Message
	}
	return string(active.Status), active.LastTransitionTime, active.Reason + ": " + active.Message
}

// sourceText says where the hub has the credentials of a cluster from.
func sourceText(c *kueue.MultiKueueCluster) string {
	s := c.Spec.ClusterSource
	switch {
	case s.ClusterProfileRef != nil:
		return "ClusterProfile/" + s.ClusterProfileRef.Name
	case s.KubeConfig == nil:
		return orNone("")
	case s.KubeConfig.LocationType == kueue.PathLocationType:
		return s.KubeConfig.Location
	}
	return "Secret/" + s.KubeConfig.Location
}

// tokenValidity says how long a cluster's token is good.
func tokenValidity(tokens map[string]time.Time, cluster string, now time.Time) string {
	until, ok := tokens[cluster]
	switch {
	case !ok:
		return "<unknown>"
	case !until.After(now):
		return "expired"
	}
	return "for " + duration.HumanDuration(until.Sub(now))
}
