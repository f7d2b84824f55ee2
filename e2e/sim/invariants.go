package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// acting checks an action against what the dispatcher knows, and against what people have said.
func (l *ledger) acting(t *turn, a dispatch.Action) {
	if a.Remote() {
		t.must(lawReach, t.program.remote[a.Cluster].link.State == dispatch.Connected, "%s for %s", sentence(a), t.item.name)
	}
	if a.Verb != dispatch.CreateOffer && a.Verb != dispatch.CreateJob {
		return
	}
	t.must(lawAbsorbing, t.item.finished == nil && !t.item.deleting, "%s for %s, which is over", sentence(a), t.item.name)
	v := clusterView(t.obs, a.Cluster)
	t.must(lawForeign, v.Copy.Holder != dispatch.Foreign && v.Job.Holder != dispatch.Foreign, "%s for %s", sentence(a), t.item.name)
	if a.Verb == dispatch.CreateJob {
		l.losersFirst(t, a)
		return
	}
	t.must(lawListed, t.configured(t.item) && slices.Contains(t.hub.listed, a.Cluster), "%s for %s", sentence(a), t.item.name)
	t.must(lawCordon, !t.hub.cordoned[a.Cluster] && !t.hub.draining[a.Cluster], "%s for %s", sentence(a), t.item.name)
	l.underLease(t, t.leased(a.Cluster), a.Cluster)
	l.sending(attempt{t.item.uid, a.Epoch}, a.Cluster, t.now)
}

// losersFirst checks that every loser that is seen was retracted earlier in the same turn.
func (l *ledger) losersFirst(t *turn, a dispatch.Action) {
	for _, v := range t.obs.Clusters {
		if v.Name == a.Cluster || v.Link.State != dispatch.Connected || v.Copy.Holder != dispatch.Ours {
			continue
		}
		retracted := slices.ContainsFunc(t.plan.Actions, func(b dispatch.Action) bool { return b.Verb == dispatch.Retract && b.Cluster == v.Name })
		t.must(lawLosers, retracted, "%s still has a copy of %s", v.Name, t.item.name)
	}
}

// creating checks a job that is about to come into being.
func (l *ledger) creating(t *turn, c *worker, a dispatch.Action) {
	key := attempt{t.item.uid, a.Epoch}
	before, again := l.created[key]
	t.must(lawOneJob, !again || before == c.name || l.forgotten[t.item.uid], "%s epoch %d on %s and %s", t.item.name, a.Epoch, before, c.name)
	t.must(lawAgain, !l.ran[key] || l.forgotten[t.item.uid], "%s epoch %d on %s", t.item.name, a.Epoch, c.name)
	l.created[key] = c.name
	l.promised[key] = strict(t.World.policy) // what is done while the config is missing stands in for it, and promises nothing
	for _, other := range t.workers {
		job, ok := other.jobs[t.item.name]
		ended := job.finished != nil && job.lost == theStamp // nobody's, for all that can be known
		older := ok && other != c && job.ours && job.uid == t.item.uid && (!job.late || job.running) && !ended
		t.must(lawOlder, !older || t.graceOver(other.name), "%s epoch %d, while %s has that of epoch %d", t.item.name, key.epoch, other.name, job.epoch)
		if older {
			l.overlap(t, key, other, job)
		} else if l.acquitted[place{l.jobs[t.item.uid], other.name}] {
			l.apart[key] = append(l.apart[key], other.name) // its last Workload was let go though that might still run
		} else if obj, ok := other.copies[t.item.name]; ok && other != c && obj.uid == t.item.uid && obj.epoch < a.Epoch && t.graceOver(other.name) {
			l.apart[key] = append(l.apart[key], other.name) // a call may still be on its way there
		}
	}
	l.legacy(t, c)
	for _, r := range l.resultsOf(l.jobs[t.item.uid]) {
		t.must(lawFact, !r.counted, "%s finished on %s and is created on %s", t.item.name, r.cluster, c.name)
	}
}

// overlap notes an older job that exists elsewhere while a new one is created.
func (l *ledger) overlap(t *turn, key attempt, other *worker, job remoteJob) {
	if strict(t.policy) != "" {
		l.apartOnly(t, other, job)
	}
	l.apart[key] = append(l.apart[key], other.name)
}

// started checks that a job that begins to run is the only one.
func (l *ledger) started(w *World, c *worker, name string, job remoteJob) {
	l.ran[attempt{job.uid, job.epoch}] = true
	if !c.guard.stock {
		w.must(lawLate, c.copies[name].epoch == job.epoch, "%s of epoch %d on %s, admitted in epoch %d", name, job.epoch, c.name, c.copies[name].epoch)
	}
	if l.promised[attempt{job.uid, job.epoch}] != "" {
		l.alone(w, c, name, job)
		return
	}
	for _, other := range w.workers {
		o, ok := other.jobs[name]
		if other == c || !ok || !o.running || !l.same(o.owner, job.owner) {
			w.must(lawOneRun, true, "")
			continue
		}
		newer, older := job, other.name
		if o.uid > job.uid || o.uid == job.uid && o.epoch > job.epoch {
			newer, older = o, c.name
		}
		w.must(lawOneRun, slices.Contains(l.apart[attempt{newer.uid, newer.epoch}], older), "%s runs on %s and %s", name, c.name, other.name)
	}
}

// destroying checks a job that is about to be removed by the hub, which saw its Workload like this.
func (l *ledger) destroying(w *World, c *worker, seen workload, job remoteJob) {
	item, ok := w.hub.items[seen.name]
	over := func(item workload) bool { return item.deleting && !item.kept || item.finished != nil }
	if !ok || job.deleting || item.uid != job.uid || over(item) || over(seen) {
		return
	}
	elsewhere := seen.bound != "" && seen.bound != c.name && holds(seen, seen.bound)
	obj, hasCopy := c.copies[seen.name]
	another := hasCopy && obj.ours && obj.gpu != item.gpu // the Workload has been changed since
	w.must(lawFact, job.finished == nil || elsewhere || another || job.tampered, "the result of %s on %s is destroyed unseen", seen.name, c.name)
	held := holds(item, c.name) && item.state().Epoch == job.epoch && !item.evicted && item.quota
	w.must(lawUnseen, job.finished != nil || !held, "the job of %s on %s", seen.name, c.name)
}

// finishing checks a result that is about to be recorded.
func (l *ledger) finishing(t *turn, cluster string) {
	t.must(lawEnded, slices.ContainsFunc(l.results[t.item.uid], func(r result) bool { return r.cluster == cluster }), "%s on %s", t.item.name, cluster)
}

// writing checks a status write of the dispatcher.
func (l *ledger) writing(t *turn, before, after workload) {
	l.admissible(t, before, after)
	s, next := before.state(), after.state()
	t.must(lawEpochs, next.Epoch >= l.epochs[before.uid] || l.forgotten[before.uid], "%s from %d to %d", before.name, l.epochs[before.uid], next.Epoch)
	l.epochs[before.uid] = max(l.epochs[before.uid], next.Epoch)
	t.must(lawAbsorbing, before.finished == nil, "%s is written to", before.name)
	if after.check == dispatch.Ready && before.check != dispatch.Ready {
		c := clusterView(t.obs, after.bound).Copy
		t.must(lawReady, c.Holder == dispatch.Ours && c.Epoch == next.Epoch && c.Admitted, "%s says so of %q, where there is %+v", before.name, after.bound, c)
	}
	l.rounds(t, before, s, next)
	if len(s.Nominated) == 0 {
		l.firstOffer(t, before, next)
		t.must(lawChecks, len(next.Nominated) == 0 || !before.unchecked, "%s is offered to %v", before.name, next.Nominated)
	}
	l.fitting(t, before, s, next)
	if s.Bound == "" && next.Bound != "" {
		l.binding(t, next.Bound)
		l.underLease(t, !t.lapsed(next.Bound), next.Bound)
		delete(l.trouble, before.uid)
	}
	if s.Bound != "" && !s.Retreating() && (next.Bound == "" || next.Retreating()) && !before.deleting {
		l.givingUp(t, before)
	}
	l.owing(t, before, s, next)
	l.parting(t, before, s, next)
	l.leavingNote(t, before, after)
	l.witness(t, s, next)
}

// owing checks that what is known of a debtor stays known, unless it shows what the record does not know of.
func (l *ledger) owing(t *turn, item workload, s, next dispatch.State) {
	for _, d := range s.Debts {
		v := clusterView(t.obs, d.Cluster)
		shows := v.Copy.Holder == dispatch.Ours && v.Copy.Epoch >= s.Epoch || v.Job.Holder == dispatch.Ours && v.Job.Epoch >= s.Epoch
		for _, still := range next.Debts {
			if still.Cluster == d.Cluster && !shows {
				t.must(lawOwes, still.Stops == d.Stops, "%s on %s", item.name, d.Cluster)
			}
		}
	}
}

// witness notes what has been reached.
func (l *ledger) witness(t *turn, s, next dispatch.State) {
	switch t.plan.Because {
	case dispatch.Settled:
		t.reach(DebtSettled)
	case dispatch.RecordLost:
		t.reach(RecordLost)
	case dispatch.ResultUnknown:
		t.reach(ResultUnknown)
	default:
	}
	if t.plan.Because == dispatch.SiblingWait && len(s.Nominated) > 0 && len(next.Nominated) == 0 {
		t.reach(SiblingYields)
	}
	if t.plan.Because == dispatch.Owed && len(next.Debts) > len(s.Debts) {
		t.reach(Legacy)
	}
	if t.policy.Dispatcher == dispatch.BestFit && len(s.Nominated) > 0 && len(next.Nominated) > len(s.Nominated) {
		t.reach(Hedges)
	}
}

// admissible checks the API's own rules (contract: multikueue.md 0).
func (l *ledger) admissible(t *turn, before, after workload) {
	t.must(lawImmutable, before.bound == "" || after.bound == "" || before.bound == after.bound, "%s", before.name)
	t.must(lawExclusive, after.bound == "" || len(after.nominated) == 0, "%s", before.name)
	t.must(lawNominated, before.bound != "" || after.bound == "" || slices.Contains(before.nominated, after.bound), "%s", before.name)
}
