package controller

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/tracker"
)

// updateCutOff looks at all connections. Whoever notices that the hub is cut off, or is not any more, tells everybody: who went by
// what was before waits for nothing else.
func (r *WorkloadReconciler) updateCutOff() tracker.Connectivity {
	s := r.observeLinks()
	if s.Changed {
		for _, key := range r.listIndexed(hubworkload.InDispatchValue) {
			r.Fleet.WorkloadRequests().Enqueue(key, 0)
		}
	}
	return s
}

// observeLinks reads all connections and compares them with those before. What was read later is what counts, so that nothing else may read
// them meanwhile.
func (r *WorkloadReconciler) observeLinks() tracker.Connectivity {
	r.connectivity.Lock()
	defer r.connectivity.Unlock()
	states := r.Fleet.States()
	links := make([]tracker.ClusterLink, 0, len(states))
	for _, state := range states {
		links = append(links, tracker.ClusterLink{Cluster: state.Cluster, Link: linkFromState(state)})
	}
	return readTracker(r.tracker, func(t *tracker.Tracker) tracker.Connectivity { return t.ObserveLinks(links, r.Clock.Now()) })
}

// fleetLinks are the links of all clusters and when a cut-off ended last, if somebody may ask whether the hub is cut off from most
// of them. They are no older than the views.
func (r *WorkloadReconciler) fleetLinks(views []dispatch.ClusterView) (all []dispatch.Link, cutOffEnded time.Time) {
	lost := func(v dispatch.ClusterView) bool { return v.Link.State == dispatch.Unreachable }
	if !slices.ContainsFunc(views, lost) {
		return nil, time.Time{}
	}
	s := r.updateCutOff()
	return s.Links, s.CutOffEndedAt
}
