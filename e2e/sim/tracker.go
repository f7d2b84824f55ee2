package sim

import (
	"errors"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	"switchyard.dev/worker/admission"
)

// Tracker is [tracker.Tracker], or a mutant of it. The program's driver has one; it is lost in a crash.
type Tracker interface {
	Assume(w tracker.Workload, cluster string, claims []placement.Claim, now time.Time)
	Submitted(w tracker.Workload, a dispatch.Action, now time.Time)
	Sent(w tracker.Workload, a dispatch.Action, now time.Time)
	Answered(w tracker.Workload, a dispatch.Action, answer tracker.Answer, now time.Time)
	Bound(w tracker.Workload, s dispatch.State, o dispatch.Observation, p dispatch.Policy, plan dispatch.Plan) (time.Duration, bool)
	Observe(w tracker.Workload, s dispatch.State, o dispatch.Observation, plan dispatch.Plan)
	AddTo(w tracker.Workload, epoch int64, v *dispatch.ClusterView)
	InFlight(cluster string, except admission.Key, reportedAt, now time.Time) []placement.Claim
	Misses(cluster string, now time.Time) int
	IsRemoved(uid string, connection int64, now time.Time) bool
	DeferJobCreation(w tracker.Workload, actions []dispatch.Action, pending func(dispatch.Action) bool, now time.Time) ([]dispatch.Action, time.Time)
	NextToDrain(cluster string, bound []admission.Key) (admission.Key, bool)
	SetDrainTargets(cluster string, workloads []admission.Key)
	EndDrain(cluster string)
	ObserveLinks(all []tracker.ClusterLink, now time.Time) tracker.Connectivity
	Expire(now time.Time)
	ForgetWorkload(key admission.Key)
}

// NewTrackerFunc makes the Tracker of a program that starts.
type NewTrackerFunc func(cutOffWindow time.Duration) Tracker

func newTracker(cutOffWindow time.Duration) Tracker { return tracker.New(cutOffWindow) }

// trackedWorkload is a Workload as the Tracker knows it.
func trackedWorkload(item workload) tracker.Workload {
	return tracker.Workload{Key: workloadKey(item.name), UID: formatUID(item.uid)}
}

// updateCutOff tells the Tracker of all connections.
func (w *program) updateCutOff() {
	links := make([]tracker.ClusterLink, 0, len(w.workers))
	for _, c := range w.workers {
		links = append(links, tracker.ClusterLink{Cluster: c.name, Link: w.driver.remotes[c.name].link})
	}
	w.driver.connectivity = w.driver.tracker.ObserveLinks(links, w.now)
	var from []string
	for _, c := range w.workers {
		if w.isHubCutOff(c.name) {
			from = append(from, c.name)
		}
	}
	if slices.ContainsFunc(w.driver.cutOffFrom, func(name string) bool { return !slices.Contains(from, name) }) {
		w.driver.cutOffEnded = w.now
	}
	if len(from) > 0 && len(w.driver.cutOffFrom) == 0 {
		w.recordEvent(HubCutOff)
	}
	w.driver.cutOffFrom = from
}

// fleetLinks are all connections, if some cluster in view is lost, and when the hub ceased to be cut off last.
func (w *program) fleetLinks(views []dispatch.ClusterView) ([]dispatch.Link, time.Time) {
	if !slices.ContainsFunc(views, func(v dispatch.ClusterView) bool { return v.Link.State == dispatch.Unreachable }) {
		return nil, time.Time{}
	}
	return w.driver.connectivity.Links, w.driver.connectivity.CutOffEndedAt
}

// assumeNominations records what a plan is about to nominate.
func (t *decision) assumeNominations() {
	for _, cluster := range t.plan.Next.Nominated {
		choice, ranked := t.driver.choices[t.item.name][cluster]
		if ranked && !slices.Contains(t.state.Nominated, cluster) {
			t.driver.tracker.Assume(trackedWorkload(t.item), cluster, choice.Claims, t.now)
		}
	}
}

// observeDone tells the Tracker what was decided and carried out.
func (t *decision) observeDone() {
	t.driver.tracker.Observe(trackedWorkload(t.item), t.state, t.obs, t.plan)
	t.driver.tracker.Expire(t.now)
}

// callWorker makes the call of an action, and lets the Tracker know of it. Of two calls at a time one is the later.
func (t *decision) callWorker(a dispatch.Action) error {
	if !a.Remote() {
		return t.makeCall(func() error { return t.runAction(a) })
	}
	w, at, tr := trackedWorkload(t.item), t.now, t.driver.tracker
	if a.Verb == dispatch.OpenGate {
		t.hub.lastVersion++
		at = at.Add(time.Duration(t.hub.lastVersion))
	}
	removed, connection := t.seenUIDs(a), t.driver.remotes[a.Cluster].connection
	if a.Verb == dispatch.Retract && len(removed) > 0 && !slices.ContainsFunc(removed, func(uid string) bool { return !tr.IsRemoved(uid, connection, t.now) }) {
		return nil // it was answered, and is not seen yet
	}
	tr.Sent(w, a, at)
	err := t.makeCall(func() error { return t.runAction(a) })
	answer := tracker.Answer{Created: err == nil, Refused: errors.Is(err, errRefused)}
	if a.Verb == dispatch.OpenGate && !answer.Refused {
		t.driver.gateCalls[gateCall{attempt{t.item.uid, a.Epoch}, a.Cluster}] = true
	}
	if err == nil {
		answer.Removed, answer.Connection = slices.DeleteFunc(removed, t.lookupWorker(a.Cluster).keeps(t.item.name)), connection
	}
	tr.Answered(w, a, answer, t.now)
	return err
}

// keeps tells of the UID of an object of that name whether the object is there and stays.
func (c *worker) keeps(name string) func(uid string) bool {
	return func(uid string) bool {
		obj, hasCopy := c.workloads[name]
		job, hasJob := c.jobs[jobOf(name)]
		return hasCopy && !obj.deleting && formatUID(obj.id) == uid || hasJob && !job.deleting && formatUID(job.id) == uid
	}
}

// seenUIDs are those of the objects that a removal would remove, as far as they are seen.
func (t *decision) seenUIDs(a dispatch.Action) (uids []string) {
	seen := t.driver.remotes[a.Cluster].informers
	removable := func(o owner, epoch int64) bool {
		return o.ours && (o.uid != t.item.uid || dispatch.IsBelow(epoch, a.Epoch))
	}
	if obj := seen.workloads.get(t.item.name); obj.exists && removable(obj.value.owner, obj.value.stampedEpoch()) {
		uids = append(uids, formatUID(obj.value.id))
	}
	if job := seen.jobs.get(jobOf(t.item.name)); job.exists && !a.OnlyCopy && job.value.isRemovable(t.item, removable) {
		uids = append(uids, formatUID(job.value.id))
	}
	return uids
}

// isRemovalPending reports whether a removal is under way: it was not refused the last time.
func (t *decision) isRemovalPending(a dispatch.Action) bool {
	return a.Verb == dispatch.Retract && t.driver.remotes[a.Cluster].callErrors[t.item.name] == ""
}

// forgetDeleted lets the Tracker forget a Workload that the hub does not have, once nothing of it is seen anywhere.
func (w *program) forgetDeleted(name string) {
	for _, r := range w.driver.remotes {
		if r.informers.workloads.get(name).exists || r.informers.jobs.get(jobOf(name)).exists {
			return
		}
	}
	w.driver.tracker.ForgetWorkload(workloadKey(name))
}
