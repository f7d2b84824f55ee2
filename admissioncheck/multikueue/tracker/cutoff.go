package tracker

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// cutOff remembers from which clusters the hub is cut off. When it ceases to be cut off from one, the grace periods of those
// that stay lost begin anew.
type cutOff struct {
	window time.Duration
	// clusters are those that the hub is cut off from, in the order of the last look.
	clusters []string
	// endedAt is when the hub ceased to be cut off from a cluster last; zero for never.
	endedAt time.Time
}

// ClusterLink is the connection to one cluster.
type ClusterLink struct {
	Cluster string
	dispatch.Link
}

// Connectivity is what one look at all connections has shown.
type Connectivity struct {
	Links []dispatch.Link
	// CutOffEndedAt is when the hub ceased to be cut off from a cluster last; zero for never.
	CutOffEndedAt time.Time
	// AffectsAll is set if the hub is, or was until now, cut off from any cluster: then every Workload is concerned. Changed is
	// set if that is so of other clusters than at the last look.
	AffectsAll, Changed bool
}

// ObserveLinks looks at the connections to all clusters, by name. Looks must come in the order in which the links were read.
func (t *Tracker) ObserveLinks(all []ClusterLink, now time.Time) Connectivity {
	c := &t.cutOff
	seen := Connectivity{Links: make([]dispatch.Link, 0, len(all))}
	for _, link := range all {
		seen.Links = append(seen.Links, link.Link)
	}
	var from []string
	for _, link := range all {
		if dispatch.CutOff(seen.Links, link.Link, c.window) {
			from = append(from, link.Cluster)
		}
	}
	if slices.ContainsFunc(c.clusters, func(name string) bool { return !slices.Contains(from, name) }) {
		c.endedAt = now
	}
	seen.CutOffEndedAt, seen.AffectsAll, seen.Changed = c.endedAt, len(c.clusters)+len(from) > 0, !slices.Equal(c.clusters, from)
	c.clusters = from
	return seen
}

// MissingSince returns since when a name is known to be that of no MultiKueueCluster; now for one that has just become so.
func (t *Tracker) MissingSince(cluster string, now time.Time) time.Time {
	c := t.cluster(cluster)
	if c.missingSince.IsZero() {
		c.missingSince = now
	}
	return c.missingSince
}

// ClusterFound records that there is a MultiKueueCluster of the name.
func (t *Tracker) ClusterFound(cluster string) {
	if c := t.clusters[cluster]; c != nil {
		c.missingSince = time.Time{}
	}
}
