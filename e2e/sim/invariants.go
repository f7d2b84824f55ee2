package sim

import (
	"fmt"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// ledger remembers what the invariants need to know of the past. It sees the truth, not what the hub sees.
type ledger struct {
	violation string
	// created says where an epoch's job was created; apart lists the clusters that held an older job of the Workload
	// then, but had been out of reach for longer than the grace: the overlap that the compatible policy allows.
	created map[attempt]string
	apart   map[attempt][]string
	// epochs is the highest epoch stored.
	epochs map[int64]int64
	// done are the results stored.
	done map[int64]dispatch.Outcome
	// results are the runs that have ended and that must not be repeated.
	results map[int64][]result
	// widened is when clusters were nominated for a Workload last, if that is done in rounds.
	widened map[int64]time.Time
	// sent is when each cluster was begun to be sent the offer of an attempt.
	sent map[attempt]map[string]time.Time
	// trouble is set once anything was wrong with the bound copy or its job since it was bound.
	trouble map[int64]bool
	// preempted are Workloads whose runs may be repeated, because the hub evicted them; forgotten are those whose epochs
	// may be used again, because the record was lost: debts still keep their jobs apart.
	preempted map[int64]bool
	forgotten map[int64]bool
	// ran are the attempts whose job has begun to run.
	ran map[attempt]bool
	// promised are the attempts made under a policy that promises that runs never overlap.
	promised map[attempt]bool
	// checks counts the questions that were asked.
	checks int
}

// attempt is one epoch of one Workload.
type attempt struct{ uid, epoch int64 }

// result is a run that ended; counted is set if its cluster was bound in that epoch at that time.
type result struct {
	cluster string
	counted bool
	at      time.Time
}

// answerAge is how old an answer may be on which a run is given up; a run may end meanwhile.
const answerAge = 10 * time.Second

func newLedger() *ledger {
	return &ledger{
		created: map[attempt]string{}, apart: map[attempt][]string{}, epochs: map[int64]int64{},
		done: map[int64]dispatch.Outcome{}, results: map[int64][]result{}, widened: map[int64]time.Time{}, trouble: map[int64]bool{},
		sent:      map[attempt]map[string]time.Time{},
		preempted: map[int64]bool{}, forgotten: map[int64]bool{}, ran: map[attempt]bool{}, promised: map[attempt]bool{},
	}
}

// violate records the first broken invariant.
func (w *World) violate(invariant, format string, args ...any) {
	if !slices.Contains(Laws(), invariant) {
		panic("sim: no such invariant: " + invariant)
	}
	if w.ledger.violation == "" {
		w.ledger.violation = invariant + ": " + fmt.Sprintf(format, args...)
		w.say("VIOLATION %s", w.ledger.violation)
	}
}

// holds reports whether a cluster is bound to a Workload and not given up, as stored.
func holds(item workload, cluster string) bool {
	return item.bound == cluster && !item.state().Retreating()
}

// acting checks an action against what the dispatcher knows.
func (l *ledger) acting(t *turn, a dispatch.Action) {
	if a.Remote() && t.program.remote[a.Cluster].link.State != dispatch.Connected {
		t.violate("no action targets a disconnected cluster", "%s for %s", sentence(a), t.item.name)
	}
	creates := a.Verb == dispatch.CreateOffer || a.Verb == dispatch.CreateJob
	if creates && (t.item.finished != nil || t.item.deleting) {
		t.violate("Finished is absorbing", "%s for %s, which is over", sentence(a), t.item.name)
	}
	v := clusterView(t.obs, a.Cluster)
	if creates && (v.Copy.Holder == dispatch.Foreign || v.Job.Holder == dispatch.Foreign) {
		t.violate("a foreign object is never touched", "%s for %s", sentence(a), t.item.name)
	}
	if a.Verb == dispatch.CreateOffer && !slices.Contains(t.hub.listed, a.Cluster) {
		t.violate("only what the config lists is offered to", "%s for %s", sentence(a), t.item.name)
	}
	if a.Verb == dispatch.CreateOffer && (t.hub.cordoned[a.Cluster] || t.hub.draining[a.Cluster]) {
		t.violate(lawCordon, "%s for %s", sentence(a), t.item.name)
	}
	l.checks++
	switch a.Verb {
	case dispatch.CreateJob:
		l.losersFirst(t, a)
	case dispatch.CreateOffer:
		l.sending(attempt{t.item.uid, a.Epoch}, a.Cluster, t.now)
	default:
	}
}

// sending notes when an offer is begun to be made first.
func (l *ledger) sending(key attempt, cluster string, now time.Time) {
	if l.sent[key] == nil {
		l.sent[key] = map[string]time.Time{}
	}
	if _, known := l.sent[key][cluster]; !known {
		l.sent[key][cluster] = now
	}
}

// losersFirst checks that every loser that is seen was retracted earlier in the same turn.
func (l *ledger) losersFirst(t *turn, a dispatch.Action) {
	for _, v := range t.obs.Clusters {
		if v.Name == a.Cluster || v.Link.State != dispatch.Connected || v.Copy.Holder != dispatch.Ours {
			continue
		}
		if !slices.ContainsFunc(t.plan.Actions, func(b dispatch.Action) bool { return b.Verb == dispatch.Retract && b.Cluster == v.Name }) {
			t.violate("losers are retracted before the job is created", "%s still has a copy of %s", v.Name, t.item.name)
		}
	}
}

func clusterView(o dispatch.Observation, name string) dispatch.ClusterView {
	for _, v := range o.Clusters {
		if v.Name == name {
			return v
		}
	}
	return dispatch.ClusterView{}
}

// creating checks a job that is about to come into being.
func (l *ledger) creating(t *turn, c *worker, a dispatch.Action) {
	key := attempt{t.item.uid, a.Epoch}
	if before, again := l.created[key]; again && before != c.name && !l.forgotten[t.item.uid] {
		t.violate("no epoch has jobs on two clusters", "%s epoch %d on %s and %s", t.item.name, a.Epoch, before, c.name)
	}
	if l.ran[key] && !l.forgotten[t.item.uid] {
		t.violate(lawAgain, "%s epoch %d on %s", t.item.name, a.Epoch, c.name)
	}
	l.created[key] = c.name
	l.promised[key] = t.strict() != ""
	l.checks++
	for _, other := range t.workers {
		if job, ok := other.jobs[t.item.name]; ok && other != c && job.ours && job.uid == t.item.uid {
			l.overlap(t, key, other, job)
		}
	}
	for _, r := range l.results[t.item.uid] {
		if r.counted && !l.preempted[t.item.uid] {
			t.violate("a finished run is a fact", "%s finished on %s and is created on %s", t.item.name, r.cluster, c.name)
		}
	}
}

// overlap checks an older job that exists elsewhere while a new one is created.
func (l *ledger) overlap(t *turn, key attempt, other *worker, job remoteJob) {
	link := t.program.remote[other.name].link
	lost := link.State == dispatch.Unreachable && !t.now.Before(link.Since.Add(t.policy.WorkerLostTimeout))
	if !lost {
		t.violate("no job is created while a reachable cluster may hold an older epoch's job",
			"%s epoch %d, while %s has that of epoch %d", t.item.name, key.epoch, other.name, job.epoch)
	}
	if t.strict() != "" {
		l.apartOnly(t, other, job)
	}
	l.apart[key] = append(l.apart[key], other.name)
}

// started checks that a job that begins to run is the only one.
func (l *ledger) started(w *World, c *worker, name string, job remoteJob) {
	l.checks++
	l.ran[attempt{job.uid, job.epoch}] = true
	if l.promised[attempt{job.uid, job.epoch}] {
		l.alone(w, c, name, job)
		return
	}
	for _, other := range w.workers {
		o, ok := other.jobs[name]
		if other == c || !ok || !o.running || o.owner != job.owner {
			continue
		}
		newer, older := job, other.name
		if o.epoch > job.epoch {
			newer, older = o, c.name
		}
		if !slices.Contains(l.apart[attempt{job.uid, newer.epoch}], older) {
			w.violate("a job runs once", "%s runs on %s and %s", name, c.name, other.name)
		}
	}
}

// ended records a run that came to its end.
func (l *ledger) ended(w *World, c *worker, name string, job remoteJob) {
	item := w.hub.items[name]
	counted := item.uid == job.uid && holds(item, c.name) && item.state().Epoch == job.epoch && !item.evicted && item.check != dispatch.Retry
	l.results[job.uid] = append(l.results[job.uid], result{cluster: c.name, counted: counted, at: w.now})
}

// destroying checks a job that is about to be removed by the hub, which saw its Workload like this.
func (l *ledger) destroying(w *World, c *worker, seen workload, job remoteJob) {
	item, ok := w.hub.items[seen.name]
	if !ok || job.deleting || item.uid != job.uid || item.deleting || item.finished != nil || seen.deleting || seen.finished != nil {
		return
	}
	l.checks++
	elsewhere := seen.bound != "" && seen.bound != c.name && holds(seen, seen.bound)
	obj, hasCopy := c.copies[seen.name]
	another := hasCopy && obj.ours && obj.gpu != item.gpu // the Workload has been changed since
	if job.finished != nil && !elsewhere && !another {
		w.violate("a finished run is a fact", "the result of %s on %s is destroyed unseen", seen.name, c.name)
	}
	if job.finished == nil && holds(item, c.name) && item.state().Epoch == job.epoch && !item.evicted && item.quota {
		w.violate("no work is destroyed because it could not be seen", "the job of %s on %s", seen.name, c.name)
	}
}

// finishing checks a result that is about to be recorded.
func (l *ledger) finishing(t *turn, a dispatch.Action) {
	l.checks++
	if !slices.ContainsFunc(l.results[t.item.uid], func(r result) bool { return r.cluster == a.Cluster }) {
		t.violate("only a run that has ended is recorded as finished", "%s on %s", t.item.name, a.Cluster)
	}
}

// writing checks a status write of the dispatcher.
func (l *ledger) writing(t *turn, before, after workload) {
	l.admissible(t, before, after)
	s, next := before.state(), after.state()
	if next.Epoch < l.epochs[before.uid] && !l.forgotten[before.uid] {
		t.violate("epochs never fall", "%s from %d to %d", before.name, l.epochs[before.uid], next.Epoch)
	}
	l.epochs[before.uid] = max(l.epochs[before.uid], next.Epoch)
	if before.finished != nil {
		t.violate("Finished is absorbing", "%s is written to", before.name)
	}
	if after.check == dispatch.Ready && before.check != dispatch.Ready {
		if c := clusterView(t.obs, after.bound).Copy; c.Holder != dispatch.Ours || c.Epoch != next.Epoch || !c.Admitted {
			t.violate(lawReady, "%s says so of %q, where there is %+v", before.name, after.bound, c)
		}
	}
	l.checks++
	l.rounds(t, before, s, next)
	if len(s.Nominated) == 0 {
		l.firstOffer(t, before, next)
	}
	if s.Bound == "" && next.Bound != "" {
		c := t.worker(next.Bound)
		l.binding(t, next.Bound)
		l.trouble[before.uid] = troubled(before, c)
	}
	if s.Bound != "" && !s.Retreating() && (next.Bound == "" || next.Retreating()) {
		l.givingUp(t, before)
	}
}

// rounds checks what the incremental dispatcher nominates: no more than a step at a time, and nobody new before those that
// were nominated had their time, unless too few of them are left that may admit.
func (l *ledger) rounds(t *turn, item workload, s, next dispatch.State) {
	step, timeout := t.policy.StepSize, t.policy.RoundTimeout
	switch t.policy.Dispatcher {
	case dispatch.Incremental:
	case dispatch.BestFit:
		step, timeout = 1, min(timeout, t.policy.HedgeAfter<<max(kept(s, next)-1, 0))
	case dispatch.AllAtOnce, dispatch.External:
		return
	}
	added := 0
	var hopeful []string
	for _, name := range next.Nominated {
		if next.Epoch != s.Epoch || next.Reservation != s.Reservation || !slices.Contains(s.Nominated, name) {
			added++
		} else if v := clusterView(t.obs, name); v.InConfig && v.Link.State == dispatch.Connected && v.Copy.Holder != dispatch.Foreign &&
			v.Job.Holder != dispatch.Foreign && !v.Copy.Evicted && !v.Copy.Refused && !v.Copy.Deactivating && v.Copy.Finished == nil {
			if v.Degraded != "" && v.Copy.Holder == dispatch.Absent && readier(t, s) {
				continue // it does not even take the offer in time
			}
			hopeful = append(hopeful, name)
		}
	}
	if added == 0 {
		return
	}
	over := !t.now.Before(l.widened[item.uid].Add(timeout))
	if t.policy.Dispatcher == dispatch.BestFit && len(hopeful)+added > step {
		l.hadTime(t, attempt{item.uid, s.Epoch}, hopeful, timeout)
	}
	if added > step || len(hopeful)+added > step && !over {
		t.violate("no cluster is nominated before its round", "%s has %v, %d of them new, last round at %s", item.name, next.Nominated, added, l.widened[item.uid].Format(time.TimeOnly))
	}
	l.widened[item.uid] = t.now
}

// readier reports whether BestFit has a cluster left that answers in time.
func readier(t *turn, s dispatch.State) bool {
	return t.policy.Dispatcher == dispatch.BestFit && slices.ContainsFunc(t.obs.Clusters, func(v dispatch.ClusterView) bool {
		return v.Degraded == "" && v.Link.State == dispatch.Connected && !slices.Contains(s.Nominated, v.Name)
	})
}

// hadTime checks that those who may still admit were sent their offers long enough ago, unless something of an earlier epoch
// was in the way. A program that was started since does not know when.
func (l *ledger) hadTime(t *turn, key attempt, hopeful []string, timeout time.Duration) {
	for _, name := range hopeful {
		v := clusterView(t.obs, name)
		owed := slices.ContainsFunc(t.state.Debts, func(d dispatch.Debt) bool { return d.Cluster == name })
		if owed || v.Copy.Holder == dispatch.Absent && v.Job.Holder != dispatch.Absent || v.Copy.Holder != dispatch.Absent && v.Copy.Epoch != key.epoch {
			continue
		}
		sent, ok := l.sent[key][name]
		if !ok || t.now.Before(sent.Add(timeout)) && t.program.started.Before(sent) {
			t.violate(lawSent, "%s is to be hedged on others, %s was sent its offer at %s", t.item.name, name, sent.Format(time.TimeOnly))
		}
	}
}

// kept counts the clusters that stay nominated.
func kept(s, next dispatch.State) int {
	n := 0
	for _, name := range s.Nominated {
		if slices.Contains(next.Nominated, name) {
			n++
		}
	}
	return n
}

// admissible checks the API's own rules (contract: multikueue.md 0).
func (l *ledger) admissible(t *turn, before, after workload) {
	switch {
	case before.bound != "" && after.bound != "" && before.bound != after.bound:
		t.violate("clusterName is immutable once set", "%s", before.name)
	case after.bound != "" && len(after.nominated) > 0:
		t.violate("clusterName and nominatedClusterNames are mutually exclusive", "%s", before.name)
	case before.bound == "" && after.bound != "" && !slices.Contains(before.nominated, after.bound):
		t.violate("when setting clusterName it must be one of the nominatedClusterNames", "%s", before.name)
	}
}

// givingUp checks that a bound cluster is given up for a reason that is true.
func (l *ledger) givingUp(t *turn, item workload) {
	if item.check == dispatch.Retry || item.evicted || !item.quota {
		return
	}
	l.checks++
	link := t.program.remote[item.bound].link
	if link.State == dispatch.Connected {
		l.excuse(item.uid, t.now.Add(-answerAge))
		if t.plan.Because == dispatch.Drained && t.hub.draining[item.bound] {
			l.moving(t, item)
			return
		}
		if !l.trouble[item.uid] && slices.Contains(t.hub.listed, item.bound) {
			t.violate("no work is destroyed because it could not be seen", "%s is given up on %s, where nothing is wrong", item.name, item.bound)
		}
		return
	}
	l.lettingGo(t, item)
	if t.hub.gone[item.bound] {
		return
	}
	since := link.Since
	if since.Before(t.program.cutOffEnded) {
		since = t.program.cutOffEnded
	}
	if link.State != dispatch.Unreachable || t.now.Before(since.Add(t.policy.WorkerLostTimeout)) {
		t.violate("a lost cluster is never given up before its grace", "%s on %s", item.name, item.bound)
	}
	l.cutOff(t, item)
	if t.policy.OnWorkerLost == dispatch.Hold {
		return
	}
	l.excuse(item.uid, time.Time{}) // what was out of reach for longer than the grace does not count
}

// excuse takes back that results from some time on count: they could not be known.
func (l *ledger) excuse(uid int64, from time.Time) {
	for i, r := range l.results[uid] {
		if !r.at.Before(from) {
			l.results[uid][i].counted = false
		}
	}
}

// cutOff checks that it is not the hub that lost everybody at once.
func (l *ledger) cutOff(t *turn, item workload) {
	together := 0
	for _, c := range t.workers {
		other := t.program.remote[c.name].link
		apart := other.Since.Sub(t.program.remote[item.bound].link.Since).Abs()
		if other.State == dispatch.Unreachable && apart <= t.policy.CutOffWindow {
			together++
		}
	}
	if len(t.workers) > 1 && together == len(t.workers) {
		t.violate("nothing is retried while the hub is cut off", "%s on %s", item.name, item.bound)
	}
}

// troubled reports whether anything is wrong with a Workload's copy on a cluster.
func troubled(item workload, c *worker) bool {
	obj, ok := c.copies[item.name]
	return !ok || !obj.ours || obj.uid != item.uid || !obj.admitted || obj.evicted || obj.finished != nil || obj.deactivating || obj.gpu != item.gpu
}

// watchBound notes any trouble of bound copies and their jobs; it is called after every command.
func (w *World) watchBound() {
	for _, item := range w.hub.items {
		if item.bound == "" || w.ledger.trouble[item.uid] {
			continue
		}
		c := w.worker(item.bound)
		_, hasJob := c.jobs[item.name]
		created := w.ledger.created[attempt{item.uid, item.state().Epoch}] == c.name
		if troubled(item, c) || created && !hasJob || hasJob && !c.jobs[item.name].ours {
			w.ledger.trouble[item.uid] = true
		}
	}
}
