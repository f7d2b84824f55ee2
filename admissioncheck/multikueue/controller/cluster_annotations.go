package controller

import (
	"context"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// clusterAnnotations are what the people who run a cluster say of it, by annotations on its MultiKueueCluster.
type clusterAnnotations struct {
	cordoned, draining, declaredGone bool
	weight                           int
	// discardOrphansBefore is the time before which orphans were made that are to be removed; zero for none.
	discardOrphansBefore time.Time
}

// maxWeight is the most that somebody can like a cluster.
const maxWeight = 100

// parseClusterAnnotations reads the annotations. Whatever is not "true" is false, and a weight that is no number is the default.
func parseClusterAnnotations(cluster client.Object) clusterAnnotations {
	notes := cluster.GetAnnotations()
	m := clusterAnnotations{
		cordoned: notes[switchyard.CordonedAnnotation] == "true", draining: notes[switchyard.DrainAnnotation] == "true",
		declaredGone: notes[switchyard.GoneAnnotation] == "true", weight: placement.DefaultWeight,
	}
	if weight, err := strconv.Atoi(notes[switchyard.WeightAnnotation]); err == nil {
		m.weight = min(max(weight, 0), maxWeight)
	}
	if before, err := time.Parse(time.RFC3339, notes[switchyard.DiscardOrphansAnnotation]); err == nil {
		m.discardOrphansBefore = before
	}
	return m
}

// clusterInfo are what the hub's cache has on a cluster: the marks, and whether its fence was found to work, see FencedCondition.
type clusterInfo struct {
	clusterAnnotations
	fenced bool
	// identity is that of the cluster that jobs were sent to, empty if not known; exchangedAt is since when another is known to be in
	// its place, zero while none is.
	identity   types.UID
	replacedAt time.Time
}

// lookupClusterInfo reads them, once for each scope; a cluster that is not there has none.
func (r *WorkloadReconciler) lookupClusterInfo(ctx context.Context, s *workloadScope, cluster string) clusterInfo {
	if read, ok := s.clusterInfos[cluster]; ok {
		return read
	}
	found, read := &kueue.MultiKueueCluster{}, clusterInfo{clusterAnnotations: clusterAnnotations{weight: placement.DefaultWeight}}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: cluster}, found, client.UnsafeDisableDeepCopy); err == nil {
		read = clusterInfo{clusterAnnotations: parseClusterAnnotations(found), fenced: meta.IsStatusConditionTrue(found.Status.Conditions, FencedCondition), identity: recordedIdentity(found)}
		if c := meta.FindStatusCondition(found.Status.Conditions, switchyard.IdentityCondition); c != nil && c.Status == metav1.ConditionFalse {
			read.replacedAt = c.LastTransitionTime.Time
		}
	}
	if s.clusterInfos == nil {
		s.clusterInfos = map[string]clusterInfo{}
	}
	s.clusterInfos[cluster] = read
	return read
}

// listPreferredClusters lists the clusters that a job names, or else its ClusterQueue, the most wanted first.
func listPreferredClusters(objects ...client.Object) []string {
	for _, obj := range objects {
		if obj == nil {
			continue
		}
		if text, ok := obj.GetAnnotations()[switchyard.PreferClustersAnnotation]; ok {
			return splitNames(text)
		}
	}
	return nil
}

// splitNames splits a list at its commas.
func splitNames(text string) []string {
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}
