package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// linkObserver compares the connections to all clusters, and notices when the hub is cut off from most of them.
type linkObserver struct {
	client  client.Reader
	fleet   *fleet.Fleet
	index   *workloadIndex
	tracker *lockedTracker
	clock   clock.PassiveClock
	// connectivity is held while all connections are read and compared.
	connectivity sync.Mutex
}

// updateCutOff compares all connections. When the hub becomes cut off, or no longer is, it requeues all Workloads in
// dispatch: no other event would.
func (l *linkObserver) updateCutOff() tracker.Connectivity {
	s := l.observeLinks()
	if s.Changed {
		for _, key := range l.index.listIndexed(hubworkload.InDispatchValue) {
			l.fleet.WorkloadRequests().Enqueue(key, 0)
		}
	}
	return s
}

// observeLinks reads all connections and compares them with those before. What was read later is what counts, so that nothing else may read
// them meanwhile.
func (l *linkObserver) observeLinks() tracker.Connectivity {
	l.connectivity.Lock()
	defer l.connectivity.Unlock()
	states := l.fleet.States()
	links := make([]tracker.ClusterLink, 0, len(states))
	for _, state := range states {
		links = append(links, tracker.ClusterLink{Cluster: state.Cluster, Link: linkFromState(state)})
	}
	return readTracker(l.tracker, func(t *tracker.Tracker) tracker.Connectivity { return t.ObserveLinks(links, l.clock.Now()) })
}

// fleetLinks returns the links of all clusters and when a cut-off ended last. It returns nothing unless a view shows a lost
// cluster, because only then does dispatch ask whether the hub is cut off. The links are no older than the views.
func (l *linkObserver) fleetLinks(views []dispatch.ClusterView) (all []dispatch.Link, cutOffEnded time.Time) {
	lost := func(v dispatch.ClusterView) bool { return v.Link.State == dispatch.Unreachable }
	if !slices.ContainsFunc(views, lost) {
		return nil, time.Time{}
	}
	s := l.updateCutOff()
	return s.Links, s.CutOffEndedAt
}

// clusterLink is the connection to a cluster. A name without a supervisor is that of a MultiKueueCluster which was not looked at
// yet, or of none at all.
func (l *linkObserver) clusterLink(ctx context.Context, name string, state fleet.State, known bool) dispatch.Link {
	switch {
	case !known:
		return l.missingLink(ctx, name)
	case state.Connected:
		l.tracker.do(func(t *tracker.Tracker) { t.ClusterFound(name) })
	}
	return linkFromState(state)
}

// missingLink is the connection to a cluster without a supervisor: unknown if there is a MultiKueueCluster of the name, else lost since
// that was seen first.
func (l *linkObserver) missingLink(ctx context.Context, name string) dispatch.Link {
	if err := l.client.Get(ctx, client.ObjectKey{Name: name}, &kueue.MultiKueueCluster{}); !apierrors.IsNotFound(err) {
		l.tracker.do(func(t *tracker.Tracker) { t.ClusterFound(name) })
		return dispatch.Link{State: dispatch.Unknown}
	}
	since := readTracker(l.tracker, func(t *tracker.Tracker) time.Time { return t.MissingSince(name, l.clock.Now()) })
	return dispatch.Link{State: dispatch.Unreachable, Since: since, NeverConnected: true}
}
