package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// checkAction checks an action against what the dispatcher knows, and against what people have said.
func (l *history) checkAction(t *decision, a dispatch.Action) {
	if a.Remote() {
		t.mustHold(invConnected, t.driver.remotes[a.Cluster].link.State == dispatch.Connected, "%s for %s", formatAction(a), t.item.name)
	}
	if a.Verb != dispatch.CreateOffer && a.Verb != dispatch.CreateJob {
		return
	}
	t.mustHold(invFinishedFinal, t.item.finished == nil && !t.item.deleting, "%s for %s, which is over", formatAction(a), t.item.name)
	v := clusterView(t.obs, a.Cluster)
	t.mustHold(invForeign, v.Copy.Holder != dispatch.Foreign && v.Job.Holder != dispatch.Foreign, "%s for %s", formatAction(a), t.item.name)
	if a.Verb == dispatch.CreateJob {
		l.checkLosersRetracted(t, a)
		return
	}
	grows := !t.hasConfig(t.item) && t.state.Bound == a.Cluster && t.item.replaces != "" // where its job runs
	t.mustHold(invListed, t.hasConfig(t.item) && slices.Contains(t.hub.listed, a.Cluster) || grows, "%s for %s", formatAction(a), t.item.name)
	t.mustHold(invCordon, !t.hub.cordoned[a.Cluster] && !t.hub.draining[a.Cluster], "%s for %s", formatAction(a), t.item.name)
	l.checkLease(t, t.hasLease(a.Cluster), a.Cluster)
	l.rounds.recordOfferSent(attempt{t.item.uid, a.Epoch}, a.Cluster, t.now)
}

// checkLosersRetracted checks that every loser that is seen was retracted earlier in the same turn.
func (l *history) checkLosersRetracted(t *decision, a dispatch.Action) {
	for _, v := range t.obs.Clusters {
		if v.Name == a.Cluster || v.Link.State != dispatch.Connected || v.Copy.Holder != dispatch.Ours {
			continue
		}
		retracted := slices.ContainsFunc(t.plan.Actions, func(b dispatch.Action) bool { return b.Verb == dispatch.Retract && b.Cluster == v.Name })
		t.mustHold(invLosers, retracted, "%s still has a copy of %s", v.Name, t.item.name)
	}
}

// checkJobCreation checks a job that is about to come into being.
func (l *history) checkJobCreation(t *decision, c *worker, a dispatch.Action) {
	key := l.attempt(t.item.uid, a.Epoch)
	before, again := l.createdOn[key]
	t.mustHold(invOneJob, !again || before == c.name || l.isRecordLost(t.item.uid), "%s epoch %d on %s and %s", t.item.name, a.Epoch, before, c.name)
	t.mustHold(invNoRerun, !l.started[key] || l.isRecordLost(t.item.uid), "%s epoch %d on %s", t.item.name, a.Epoch, c.name)
	l.createdOn[key] = c.name
	l.promises[key] = overlapInvariant(t.World.policy) // what is done while the config is missing stands in for it, and promises nothing
	for _, other := range t.workers {
		job, ok := other.jobs[jobOf(t.item.name)]
		ended := job.finished != nil && job.lostMarks == lostAllMarks // nobody's, for all that can be known
		older := ok && other != c && job.ours && l.sameRun(job.uid, t.item.uid) && (!job.createdLate || job.running) && !ended
		t.mustHold(invNoOlderJob, !older || t.isGraceOver(other.name), "%s epoch %d, while %s has that of epoch %d", t.item.name, key.epoch, other.name, job.epoch)
		if older {
			l.recordOverlap(t, key, other, job)
		} else if l.excused[jobCluster{l.jobOf[t.item.uid], other.name}] {
			l.allowedOverlaps[key] = append(l.allowedOverlaps[key], other.name) // its last Workload was let go though that might still run
		} else if obj, ok := other.workloads[t.item.name]; ok && other != c && obj.uid == t.item.uid && obj.epoch < a.Epoch && t.isGraceOver(other.name) {
			l.allowedOverlaps[key] = append(l.allowedOverlaps[key], other.name) // a call may still be on its way there
		}
	}
	l.checkPredecessors(t, c)
	for _, r := range l.resultsOf(l.jobOf[t.item.uid]) {
		t.mustHold(invResultKept, !r.counted, "%s finished on %s and is created on %s", t.item.name, r.cluster, c.name)
	}
}

// recordOverlap notes an older job that exists elsewhere while a new one is created.
func (l *history) recordOverlap(t *decision, key attempt, other *worker, job remoteJob) {
	if overlapInvariant(t.policy) != "" {
		l.checkOlderJobStopped(t, other, job)
	}
	l.allowedOverlaps[key] = append(l.allowedOverlaps[key], other.name)
}

// checkJobStart checks that a job that begins to run is the only one.
func (l *history) checkJobStart(w *workerClusters, c *worker, name string, job remoteJob) {
	l.started[l.attempt(job.uid, job.epoch)] = true
	if !c.fence.stock && !job.elastic {
		w.mustHold(invLateEpoch, c.workloads[name].epoch == job.epoch, "%s of epoch %d on %s, admitted in epoch %d", name, job.epoch, c.name, c.workloads[name].epoch)
	}
	if l.promises[l.attempt(job.uid, job.epoch)] != "" {
		l.checkNoOverlap(w, c, name, job)
		return
	}
	for _, other := range w.workers {
		o, ok := other.jobs[name]
		if other == c || !ok || !o.running || !l.sameJob(o.owner, job.owner) {
			w.mustHold(invOneRun, true, "")
			continue
		}
		newer, older := job, other.name
		if same := l.sameRun(o.uid, job.uid); !same && o.uid > job.uid || same && o.epoch > job.epoch {
			newer, older = o, c.name
		}
		w.mustHold(invOneRun, slices.Contains(l.allowedOverlaps[l.attempt(newer.uid, newer.epoch)], older), "%s runs on %s and %s", name, c.name, other.name)
	}
}

// checkJobRemoval checks a job that is about to be removed by the hub, which saw its Workload like this.
func (l *history) checkJobRemoval(w *workerClusters, c *worker, seen workload, job remoteJob, how removalOptions) {
	l.checkRetained(w, c, jobOf(seen.name))
	item, ok := w.hub.workloads[seen.name]
	if seen.elastic {
		item, ok = w.sliceWithJob(seen)
	}
	over := func(item workload) bool { return item.deleting && !item.retained || item.finished != nil }
	if !ok || job.deleting || !l.sameRun(item.uid, job.uid) || over(item) || over(seen) && !seen.elastic {
		return
	}
	elsewhere := seen.bound != "" && seen.bound != c.name && isBoundTo(seen, seen.bound)
	obj, hasCopy := c.workloads[item.name]
	if !hasCopy && how.shown != nil { // the hub may not have been shown yet that it is gone
		obj, hasCopy = how.shown()
	}
	another := hasCopy && obj.ours && obj.gpu != item.gpu && (!item.elastic || obj.gpu < item.gpu) // the Workload has been changed since
	// Who deletes a Workload wants its job run again, and what the policy does not wait for any more is none of its clusters.
	late := item.retained && slices.Contains(l.unawaited[item.uid], c.name)
	w.mustHold(invResultKept, job.finished == nil || elsewhere || another || late || job.tampered, "the result of %s on %s is destroyed unseen", seen.name, c.name)
	// The hub had recorded the retreat and removes what that gives up; a client has dropped the record a moment ago.
	givenUp := w.isGivenUp(c, seen.name, job) || l.isRecordLost(item.uid) && seen.owes(c.name, job.epoch)
	held := isBoundTo(item, c.name) && item.state().Epoch == job.epoch && !item.evicted && item.quota && !givenUp
	w.mustHold(invUnseenWork, job.finished != nil || !held, "the job of %s on %s", seen.name, c.name)
}

// checkFinish checks a result that is about to be recorded.
func (l *history) checkFinish(t *decision, cluster string) {
	t.mustHold(invEnded, slices.ContainsFunc(l.resultsOfChain(t.item.uid), func(r runResult) bool { return r.cluster == cluster }), "%s on %s", t.item.name, cluster)
}

// checkWrite checks a status write of the dispatcher.
func (l *history) checkWrite(t *decision, before, after workload) {
	l.checkAPIRules(t, before, after)
	s, next := before.state(), after.state()
	if before.elastic {
		l.checkTakeover(t, before, s, next)
	}
	t.mustHold(invEpochs, next.Epoch >= l.epochs[l.root(before.uid)] || l.isRecordLost(before.uid), "%s from %d to %d", before.name, l.epochs[l.root(before.uid)], next.Epoch)
	l.epochs[l.root(before.uid)] = max(l.epochs[l.root(before.uid)], next.Epoch)
	t.mustHold(invFinishedFinal, before.finished == nil, "%s is written to", before.name)
	if after.check == dispatch.Ready && before.check != dispatch.Ready {
		c := clusterView(t.obs, after.bound).Copy
		t.mustHold(invReady, c.Holder == dispatch.Ours && c.Epoch == next.Epoch && c.Admitted, "%s says so of %q, where there is %+v", before.name, after.bound, c)
	}
	l.rounds.checkRounds(t, before, s, next)
	if len(s.Nominated) == 0 {
		l.checkFirstOffer(t, before, next)
		t.mustHold(invOtherChecks, len(next.Nominated) == 0 || !before.otherChecksPending, "%s is offered to %v", before.name, next.Nominated)
	}
	l.checkNominationFit(t, before, s, next)
	inherits := t.plan.Reason == dispatch.TakenOver // the slice before was bound there, or given up
	if s.Bound == "" && next.Bound != "" && !inherits {
		l.checkSiblingBinding(t, next.Bound)
		l.checkLease(t, !t.leaseExpired(next.Bound), next.Bound)
		delete(l.lastTrouble, before.uid)
	}
	if s.Bound != "" && !s.Retreating() && (next.Bound == "" || next.Retreating()) && !before.deleting && !inherits {
		l.checkGiveUp(t, before)
	}
	l.checkDebts(t, before, s, next)
	l.checkUnbinding(t, before, s, next)
	l.checkDrainMessage(t, before, after)
	l.recordEvents(t, s, next)
}

// checkDebts checks that what is known of a debtor stays known, unless it shows what the record does not know of.
func (l *history) checkDebts(t *decision, item workload, s, next dispatch.State) {
	for _, d := range s.Debts {
		v := clusterView(t.obs, d.Cluster)
		shows := v.Copy.Holder == dispatch.Ours && v.Copy.Epoch >= s.Epoch || v.Job.Holder == dispatch.Ours && v.Job.Epoch >= s.Epoch
		if v.Live != nil {
			shows = shows || v.Live.Copy.Holder == dispatch.Ours && v.Live.Copy.Epoch >= s.Epoch || v.Live.Job.Holder == dispatch.Ours && v.Live.Job.Epoch >= s.Epoch
		}
		for _, still := range next.Debts {
			if still.Cluster == d.Cluster && !shows {
				t.mustHold(invDebts, still.StopsOnHubLost == d.StopsOnHubLost, "%s on %s", item.name, d.Cluster)
			}
		}
	}
}

// recordEvents notes what has been reached.
func (l *history) recordEvents(t *decision, s, next dispatch.State) {
	switch t.plan.Reason {
	case dispatch.Settled:
		t.recordEvent(DebtSettled)
	case dispatch.RecordLost:
		t.recordEvent(RecordLost)
	case dispatch.ResultUnknown:
		t.recordEvent(ResultUnknown)
	default:
	}
	if t.plan.Reason == dispatch.SiblingWait && len(s.Nominated) > 0 && len(next.Nominated) == 0 {
		t.recordEvent(SiblingYields)
	}
	if t.plan.Reason == dispatch.Owed && len(next.Debts) > len(s.Debts) {
		t.recordEvent(PredecessorDebt)
	}
	if t.policy.Dispatcher == dispatch.BestFit && len(s.Nominated) > 0 && len(next.Nominated) > len(s.Nominated) {
		t.recordEvent(Hedges)
	}
}

// checkAPIRules checks the API's own rules (contract: multikueue.md 0).
func (l *history) checkAPIRules(t *decision, before, after workload) {
	t.mustHold(invImmutable, before.bound == "" || after.bound == "" || before.bound == after.bound, "%s", before.name)
	t.mustHold(invExclusive, after.bound == "" || len(after.nominated) == 0, "%s", before.name)
	t.mustHold(invNominated, before.bound != "" || after.bound == "" || slices.Contains(before.nominated, after.bound) || before.replaces != "", "%s", before.name)
}
