package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
)

// cutOffDetector remembers from which clusters the hub is cut off, and when it ceased to be cut off from one last: grace periods of those
// that stay lost begin anew then. Connections change while nobody looks, so whoever goes by the links looks through it, and sees
// them and that time as one.
type cutOffDetector struct {
	clock    clock.PassiveClock
	window   time.Duration
	mu       sync.Mutex
	clusters []string // by name
	endedAt  time.Time
}

// fleetConnectivity is what one look at all connections has shown.
type fleetConnectivity struct {
	links []dispatch.Link
	// cutOffEndedAt is when the hub ceased to be cut off from a cluster last, zero if never.
	cutOffEndedAt time.Time
	// affectsAll is set if the hub is, or was until now, cut off from any: then every Workload is concerned. News is set if that is
	// so of others than at the last look.
	affectsAll, changed bool
}

// update looks at all connections. What was looked at later is what counts, so nobody else looks meanwhile.
func (c *cutOffDetector) update(states func() []fleet.State) fleetConnectivity {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := states()
	s := fleetConnectivity{links: make([]dispatch.Link, 0, len(all))}
	for _, state := range all {
		s.links = append(s.links, linkFromState(state))
	}
	var from []string
	for i, link := range s.links {
		if dispatch.CutOff(s.links, link, c.window) {
			from = append(from, all[i].Cluster)
		}
	}
	if slices.ContainsFunc(c.clusters, func(name string) bool { return !slices.Contains(from, name) }) {
		c.endedAt = c.clock.Now()
	}
	s.cutOffEndedAt, s.affectsAll, s.changed = c.endedAt, len(c.clusters)+len(from) > 0, !slices.Equal(c.clusters, from)
	c.clusters = from
	return s
}

// updateCutOff looks at all connections. Whoever notices that the hub is cut off, or is not any more, tells everybody: who went by
// what was before waits for nothing else.
func (r *WorkloadReconciler) updateCutOff() fleetConnectivity {
	s := r.cutOff.update(r.Fleet.States)
	if s.changed {
		for _, key := range r.listIndexed(inDispatchValue) {
			r.Fleet.WorkloadRequests().Enqueue(key, 0)
		}
	}
	return s
}

// fleetLinks are the links of all clusters and when a cut-off ended last, if somebody may ask whether the hub is cut off from most
// of them. They are no older than the views.
func (r *WorkloadReconciler) fleetLinks(views []dispatch.ClusterView) (all []dispatch.Link, cutOffEnded time.Time) {
	lost := func(v dispatch.ClusterView) bool { return v.Link.State == dispatch.Unreachable }
	if !slices.ContainsFunc(views, lost) {
		return nil, time.Time{}
	}
	s := r.updateCutOff()
	return s.links, s.cutOffEndedAt
}
