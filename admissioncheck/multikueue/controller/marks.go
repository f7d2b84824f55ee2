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

// marks are what the people who run a cluster say of it, by annotations on its MultiKueueCluster.
type marks struct {
	cordoned, drain, gone bool
	weight                int
	// discard is the time before which orphans were made that are to be removed; zero for none.
	discard time.Time
}

// maxWeight is the most that somebody can like a cluster.
const maxWeight = 100

// marksOf reads the annotations. Whatever is not "true" is false, and a weight that is no number is the default.
func marksOf(cluster client.Object) marks {
	notes := cluster.GetAnnotations()
	m := marks{
		cordoned: notes[switchyard.CordonedAnnotation] == "true", drain: notes[switchyard.DrainAnnotation] == "true",
		gone: notes[switchyard.GoneAnnotation] == "true", weight: placement.DefaultWeight,
	}
	if weight, err := strconv.Atoi(notes[switchyard.WeightAnnotation]); err == nil {
		m.weight = min(max(weight, 0), maxWeight)
	}
	if before, err := time.Parse(time.RFC3339, notes[switchyard.DiscardOrphansAnnotation]); err == nil {
		m.discard = before
	}
	return m
}

// notes are what the hub's cache has on a cluster: the marks, and whether its fence was found to work, see FencedCondition.
type notes struct {
	marks
	fenced bool
	// identity is that of the cluster that jobs were sent to, empty if not known; exchangedAt is since when another is known to be in
	// its place, zero while none is.
	identity    types.UID
	exchangedAt time.Time
}

// notes reads them, once for each subject; a cluster that is not there has none.
func (r *Resolver) notes(ctx context.Context, s *subject, cluster string) notes {
	if read, ok := s.notes[cluster]; ok {
		return read
	}
	found, read := &kueue.MultiKueueCluster{}, notes{marks: marks{weight: placement.DefaultWeight}}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: cluster}, found, client.UnsafeDisableDeepCopy); err == nil {
		read = notes{marks: marksOf(found), fenced: meta.IsStatusConditionTrue(found.Status.Conditions, FencedCondition), identity: identityOf(found)}
		if c := meta.FindStatusCondition(found.Status.Conditions, switchyard.IdentityCondition); c != nil && c.Status == metav1.ConditionFalse {
			read.exchangedAt = c.LastTransitionTime.Time
		}
	}
	if s.notes == nil {
		s.notes = map[string]notes{}
	}
	s.notes[cluster] = read
	return read
}

// preferred lists the clusters that a job names, or else its ClusterQueue, the most wanted first.
func preferred(objects ...client.Object) []string {
	for _, obj := range objects {
		if obj == nil {
			continue
		}
		if text, ok := obj.GetAnnotations()[switchyard.PreferClustersAnnotation]; ok {
			return names(text)
		}
	}
	return nil
}

// names splits a list at its commas.
func names(text string) []string {
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}
