package tracker

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

// Workload identifies a Workload of the hub. A Workload that was deleted and made again under the same name has another UID, and
// shares nothing with the one before.
type Workload struct {
	admission.Key
	UID string
}

// Tracker remembers Workloads and clusters. [New] makes one. It is not safe for concurrent use.
//
// One rule of lifetime holds for everything that is remembered of a Workload. It lives until [Tracker.ForgetWorkload], which the
// dispatcher calls when nothing of the Workload is left anywhere; what is under way ends when [Tracker.Observe] sees it
// finished. What was recorded of a Workload that [Tracker.Observe] never confirms ends by itself after [UnconfirmedTTL]: the
// answer of a call may come after the Workload has gone. What is remembered of a cluster lives until [Tracker.ForgetCluster].
type Tracker struct {
	workloads map[admission.Key]*workloadState
	clusters  map[string]*clusterState
	// claims are those of all offers that their clusters do not count themselves, by cluster and Workload.
	claims    *placement.UsageInFlight
	removals  removals
	cutOff    cutOff
	unplaced  UnplacedIndex
	deletions Deletions
	// finishes are how long the hub's job controller took lately to record an end.
	finishes  latencyWindow
	expiredAt time.Time
}

// workloadState is what is remembered of one Workload.
type workloadState struct {
	uid string
	// offers are those under way, by cluster.
	offers map[string]*offer
	// gates are the clusters that were asked to open the preemption gate of their copy.
	gates map[string]gateRequest
	// confirmed is set once the Workload was observed; until then the state expires after [UnconfirmedTTL].
	confirmed bool
	// recordedAt is when something was recorded last.
	recordedAt time.Time
	// losersAwaitedAt is since when the winner's job waits for the losers' copies to be gone; finishAwaitedAt since when the
	// hub's job controller has had the end before it. Zero while nothing is awaited.
	losersAwaitedAt, finishAwaitedAt time.Time
	// statusCopiedAt is when the status of the remote job was copied last; zero for never.
	statusCopiedAt time.Time
}

// clusterState is what is remembered of one cluster.
type clusterState struct {
	// missingSince is since when no MultiKueueCluster has the name; zero while one does.
	missingSince time.Time
	latencies    latencyWindow
	misses       missRecord
	sweep        sweepRecord
	// offers are those under way to the cluster; the same are in their workloadState.
	offers map[admission.Key]*offer
	// draining are the Workloads whose turn it is to leave the cluster; drained had theirs and are there still.
	draining []admission.Key
	drained  map[admission.Key]bool
}

// UnconfirmedTTL is how long something counts that was recorded of a Workload, or of an offer, and that no observation has
// confirmed.
const UnconfirmedTTL = 30 * time.Second

// New returns a Tracker that remembers nothing. The window is how close together clusters have to be lost for the hub to be the
// one that is cut off, see [dispatch.CutOff].
func New(cutOffWindow time.Duration) *Tracker {
	return &Tracker{
		workloads: map[admission.Key]*workloadState{}, clusters: map[string]*clusterState{},
		claims: placement.NewUsageInFlight(), cutOff: cutOff{window: cutOffWindow}, unplaced: newUnplacedIndex(),
		deletions: Deletions{witnessed: map[admission.Key]Witnessed{}, deleted: map[admission.Key]bool{}},
	}
}

// state returns what is remembered of a Workload, beginning if need be.
func (t *Tracker) state(w Workload, now time.Time) *workloadState {
	s := t.lookup(w)
	if s == nil {
		t.forgetState(w.Key)
		s = &workloadState{uid: w.UID, offers: map[string]*offer{}, gates: map[string]gateRequest{}}
		t.workloads[w.Key] = s
	}
	s.recordedAt = now
	return s
}

// lookup returns what is remembered of a Workload, nil for nothing. What is remembered of another Workload of the name does not
// count.
func (t *Tracker) lookup(w Workload) *workloadState {
	if s := t.workloads[w.Key]; s != nil && s.uid == w.UID {
		return s
	}
	return nil
}

// cluster returns what is remembered of a cluster, beginning if need be.
func (t *Tracker) cluster(name string) *clusterState {
	c := t.clusters[name]
	if c == nil {
		c = &clusterState{offers: map[admission.Key]*offer{}}
		t.clusters[name] = c
	}
	return c
}

// lookupCluster returns what is remembered of a cluster, which must not be changed; the zero state for nothing.
func (t *Tracker) lookupCluster(name string) *clusterState {
	if c := t.clusters[name]; c != nil {
		return c
	}
	return &clusterState{}
}

// ForgetWorkload forgets the Workload of a name, of which nothing is left anywhere. It is the one place that does.
func (t *Tracker) ForgetWorkload(key admission.Key) {
	t.deletions.forget(key)
	t.forgetState(key)
}

// forgetState forgets what is under way for a Workload.
func (t *Tracker) forgetState(key admission.Key) {
	t.unplaced.remove(key)
	if s := t.workloads[key]; s != nil {
		t.removeOffers(key, s, func(string, *offer) bool { return true })
		delete(t.workloads, key)
	}
}

// ForgetCluster forgets a cluster that is no more, and the offers to it. It is the one place that does.
func (t *Tracker) ForgetCluster(name string) {
	for key := range t.lookupCluster(name).offers {
		t.removeOffer(key, t.workloads[key], name)
	}
	for _, s := range t.workloads {
		delete(s.gates, name)
	}
	delete(t.clusters, name)
}

// Submitted records that an action was handed to its cluster. It has not been called yet.
func (t *Tracker) Submitted(w Workload, a dispatch.Action, now time.Time) {
	if a.Verb == dispatch.OpenGate {
		t.state(w, now).requestGate(a, now)
	}
}

// Sent records that the call of an action begins.
func (t *Tracker) Sent(w Workload, a dispatch.Action, now time.Time) {
	switch a.Verb {
	case dispatch.CreateOffer:
		t.offer(w, a.Cluster, now).send(a.Epoch, now)
	case dispatch.OpenGate:
		s := t.state(w, now)
		s.requestGate(a, now)
		s.callGate(a.Cluster, now)
	default:
	}
}

// Answer is what came of the call of an action.
type Answer struct {
	// Created tells that the call made a copy; Refused, that the server surely has not done what it was asked.
	Created, Refused bool
	// Removed are the UIDs of the objects that the call removed, and Connection the number of the connection over which they
	// were seen.
	Removed    []string
	Connection int64
}

// Answered records the answer to the call of an action.
func (t *Tracker) Answered(w Workload, a dispatch.Action, answer Answer, now time.Time) {
	switch {
	case a.Verb == dispatch.CreateOffer && answer.Created:
		t.offer(w, a.Cluster, now).create(now)
	case a.Verb == dispatch.OpenGate && answer.Refused:
		t.state(w, now).refuseGate(a.Cluster)
	case a.Verb == dispatch.Retract:
		t.removals.record(answer.Removed, answer.Connection, now)
	}
}

// Observe brings what is remembered of a Workload up to date with a decision that was carried out: the State and the Observation
// that it was made on, and its plan. A Workload that has finished, or is being deleted, has no offers under way; a finished one
// is forgotten.
func (t *Tracker) Observe(w Workload, s dispatch.State, o dispatch.Observation, plan dispatch.Plan) {
	switch known := t.lookup(w); {
	case o.Local.Finished:
		t.recordFinish(w, o.Now)
		t.forgetState(w.Key)
	case known != nil:
		known.confirmed = true
		t.observeOffers(w, s, o, plan)
	}
}

// AddTo adds to the view of a cluster what is remembered of the Workload there in the given epoch. A request to open the
// preemption gate is forgotten once the copy shows that it was granted.
func (t *Tracker) AddTo(w Workload, epoch int64, v *dispatch.ClusterView) {
	v.Operator.Draining = v.Operator.BeingDrained && t.isDraining(v.Name, w.Key)
	s := t.lookup(w)
	if s == nil {
		return
	}
	if of := s.offers[v.Name]; of != nil && of.epoch == epoch {
		v.Offer.StartedAt = of.sentAt
	}
	s.addGate(v, epoch)
}

// Expire forgets what was recorded and never confirmed. It looks through everything at most once in [UnconfirmedTTL].
func (t *Tracker) Expire(now time.Time) {
	if now.Before(t.expiredAt.Add(UnconfirmedTTL)) {
		return
	}
	t.expiredAt = now
	for key, s := range t.workloads {
		if !s.confirmed && !now.Before(s.recordedAt.Add(UnconfirmedTTL)) {
			t.forgetState(key)
			continue
		}
		for name, of := range s.offers {
			if of.isExpired(now) {
				t.removeOffer(key, s, name)
			}
		}
	}
}
