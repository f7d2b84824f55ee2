package cluster

import (
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/placement"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Annotations are the administrators' annotations on a MultiKueueCluster.
type Annotations struct {
	Cordoned, Draining, DeclaredGone bool
	Weight                           int
	// DiscardOrphansBefore is the time before which orphans were made that are to be removed; zero for none.
	DiscardOrphansBefore time.Time
}

// maxWeight is the largest weight that a cluster can have.
const maxWeight = 100

// ParseAnnotations reads the annotations. Whatever is not "true" is false, and a weight that is no number is the default.
func ParseAnnotations(cluster client.Object) Annotations {
	notes := cluster.GetAnnotations()
	m := Annotations{
		Cordoned: notes[switchyard.CordonedAnnotation] == "true", Draining: notes[switchyard.DrainAnnotation] == "true",
		DeclaredGone: notes[switchyard.GoneAnnotation] == "true", Weight: placement.DefaultWeight,
	}
	if weight, err := strconv.Atoi(notes[switchyard.WeightAnnotation]); err == nil {
		m.Weight = min(max(weight, 0), maxWeight)
	}
	if before, err := time.Parse(time.RFC3339, notes[switchyard.DiscardOrphansAnnotation]); err == nil {
		m.DiscardOrphansBefore = before
	}
	return m
}

// SplitNames splits a list at its commas.
func SplitNames(text string) []string {
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// ListPreferred lists the clusters that a job names, or else its ClusterQueue, the most wanted first.
func ListPreferred(objects ...client.Object) []string {
	for _, obj := range objects {
		if obj == nil {
			continue
		}
		if text, ok := obj.GetAnnotations()[switchyard.PreferClustersAnnotation]; ok {
			return SplitNames(text)
		}
	}
	return nil
}
