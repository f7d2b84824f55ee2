package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// fault is what goes wrong in one turn of the dispatcher: its call number at (from 1) fails before it takes effect, or
// fails after it has, is held up and lands later though it has failed, or is the last before the program crashes.
type fault struct {
	kind string // "", "fail", "late", "held" or "crash"
	at   int
}

var (
	errRefused    = errors.New("the call was refused")
	errUnanswered = errors.New("the call was not answered")
	errCrashed    = errors.New("the program crashed")
)

// dispatch is one turn of the dispatcher for one Workload: observe, step, and then either write or act.
func (w *World) dispatch(name string, f fault) {
	item := w.program.local.get(name)
	if !item.there || item.value.rv < w.program.written[name] || w.program.idle[name] == w.moment() || !w.concerns(item.value) {
		return
	}
	t := w.newTurn(item.value, f)
	w.program.wakes[name] = t.plan.WakeAt
	w.ledger.sick(t)
	if errors.Is(t.carryOut(), errCrashed) {
		w.crash()
		return
	}
	t.keepLeases()
	if t.calls == 0 && len(t.plan.Actions) == 0 {
		w.program.idle[name] = w.moment()
	}
}

// moment is when nothing has changed since: a turn that had nothing to do would have nothing to do again.
type moment struct {
	version, commands int
	now               time.Time
}

func (w *World) moment() moment { return moment{w.version, w.done, w.now} }

// newTurn observes a Workload and asks Step about it.
func (w *World) newTurn(item workload, f fault) *turn {
	t := &w.turn // the one before is over
	*t = turn{World: w, item: item, fault: f, state: item.state(), policy: w.policyFor(item)}
	t.obs = w.observe(item)
	if t.obs.Local.Pin != "" {
		w.ledger.pinned[item.uid] = w.now
	}
	t.plan = w.parts.Step(t.state, t.obs, w.policyToStep(item))
	return t
}

// turn is a dispatcher's turn under way.
type turn struct {
	*World
	// policy is what holds for the Workload.
	policy dispatch.Policy
	item   workload
	state  dispatch.State
	obs    dispatch.Observation
	plan   dispatch.Plan
	fault  fault
	calls  int
	// action is what the present call is for.
	action dispatch.Action
}

// carryOut writes or acts, and stops at the first failure.
func (t *turn) carryOut() error {
	writes := t.plan.Writes(t.state, t.obs.Local)
	if writes && !t.parts.Shell.ActsFirst {
		return t.call(t.write)
	}
	for _, a := range t.plan.Actions {
		t.ledger.acting(t, a)
		if a.Verb == dispatch.CreateOffer {
			t.program.offering(t.item, a, t.now)
		}
		if t.out != nil {
			t.say("%s: %s (%s)", t.item.name, sentence(a), t.plan.Because)
		}
		err := t.perform(a)
		t.noteTrouble(a, err)
		if err != nil {
			return err
		}
	}
	if writes {
		return t.call(t.write)
	}
	if t.item.deleting && !t.item.kept && t.plan.Settled {
		return t.call(t.release)
	}
	return nil
}

// perform carries out one action, in one call or two.
func (t *turn) perform(a dispatch.Action) error {
	t.action = a
	if a.Verb == dispatch.Finish {
		return t.finish(a)
	}
	if a.Verb == dispatch.OpenGate {
		return t.callGate(a)
	}
	return t.call(func() error { return t.act(a) })
}

// noteTrouble remembers that a worker refused a call. A worker that is away does not even do that.
func (t *turn) noteTrouble(a dispatch.Action, err error) {
	if !a.Remote() || t.program == nil || !t.worker(a.Cluster).up {
		return
	}
	trouble := t.program.remote[a.Cluster].trouble
	delete(trouble, t.item.name)
	if err != nil {
		trouble[t.item.name] = err.Error()
	}
}

// offering remembers when an offer was begun to be made first.
func (p *program) offering(item workload, a dispatch.Action, now time.Time) {
	of := attempt{item.uid, a.Epoch}
	if known := p.remote[a.Cluster].offered; known[item.name].of != of {
		known[item.name] = offer{of, now}
	}
}

// call makes one API call, with the turn's fault if it is due.
func (t *turn) call(do func() error) error {
	t.calls++
	if t.calls != t.fault.at {
		return do()
	}
	switch t.fault.kind {
	case "fail":
		t.say("%s: the call fails", t.item.name)
		return errRefused
	case "late":
		_ = do()
		t.say("%s: the call takes effect but fails", t.item.name)
		return errUnanswered
	case "held":
		t.hold()
		t.say("%s: the call is held up and fails", t.item.name)
		return errUnanswered
	case "crash":
		_ = do()
		t.say("%s: the hub crashes", t.item.name)
		return errCrashed
	}
	return do()
}

// prepare adds to a reservation that is about to be stored what the dispatcher would store next, if that may go with it.
func (w *World) prepare(item workload) workload {
	if !w.concerns(item) {
		return item
	}
	t := w.newTurn(item, fault{})
	if !t.plan.Prepares(t.state, t.obs.Local) {
		return item
	}
	after := item.with(t.plan.Next)
	w.ledger.writing(t, item, after)
	w.book(t)
	if w.out != nil {
		w.say("%s: %s: with the reservation, %s", item.name, t.plan.Because, storing(t.state, t.plan, item))
	}
	return after
}

// write stores Next and Verdict in one status write, on condition that nobody wrote since.
func (t *turn) write() error {
	now, ok := t.hub.items[t.item.name]
	if !ok || now.ownRV != t.item.ownRV && !t.parts.Shell.Overwrites {
		return errRefused
	}
	now = now.with(t.plan.Next)
	if t.obs.Local.Check != "" {
		now.check, now.message = t.plan.Verdict.Check, t.plan.Verdict.Message
	}
	t.ledger.writing(t, t.hub.items[t.item.name], now)
	t.book(t)
	if t.out != nil {
		t.say("%s: %s: %s", t.item.name, t.plan.Because, storing(t.state, t.plan, t.item))
	}
	t.program.written[now.name] = t.put(now).rv
	return nil
}

// release lets a deleted Workload go.
func (t *turn) release() error {
	if now, ok := t.hub.items[t.item.name]; ok && now.deleting && !now.kept && now.uid == t.item.uid {
		t.letGo(now)
	}
	return nil
}

// act carries out one action.
func (t *turn) act(a dispatch.Action) error {
	c := t.worker(a.Cluster) // nil for DrainStatus
	if a.Remote() {
		if !c.up {
			return errUnanswered
		}
		if a.Verb != dispatch.LiveRead && !t.parts.Shell.KeepsAnswers {
			delete(t.program.remote[c.name].live, t.item.name)
		}
	}
	switch a.Verb {
	case dispatch.CreateOffer:
		if err := t.current(); err != nil {
			return err
		}
		return t.createOffer(c, a)
	case dispatch.UpdateOffer:
		return t.updateOffer(c, a)
	case dispatch.CreateJob:
		return t.createJob(c, a)
	case dispatch.Retract:
		how := removal{spare: a.Spare, foreground: a.Foreground}
		if job, there := c.jobs[t.item.name]; there && job.running && a.Foreground && !t.item.quota {
			t.reach(UnderNoQuota)
		}
		how.sure = func() error { return t.sure(c, t.item) }
		return t.retract(c, t.item, how, func(o owner, epoch int64) bool {
			return o.ours && (o.uid != t.item.uid || dispatch.Before(epoch, a.Epoch))
		})
	case dispatch.OpenGate:
		return t.openGate(c, a)
	case dispatch.EvictRemote:
		return t.evictRemote(c, a)
	case dispatch.LiveRead:
		return t.liveRead(c, a)
	case dispatch.CopyStatus:
		return t.copyStatus(t.program.remote[a.Cluster].watch.jobs.get(t.item.name))
	case dispatch.DrainStatus:
		return t.setStatus(jobStatus{})
	case dispatch.Finish:
	}
	panic(fmt.Sprintf("sim: unknown verb %s", a.Verb))
}

// sweep removes remote objects whose owner is no more.
func (w *World) sweep(c *worker) {
	r := w.program.remote[c.name]
	if r.link.State != dispatch.Connected || !c.up {
		return
	}
	for _, name := range seen(r) {
		item := w.program.local.get(name)
		orphan := func(o owner) bool { return o.ours && (!item.there || item.value.uid != o.uid) }
		if !orphan(r.watch.copies.cache[name].owner) && !r.watch.jobs.cache[name].removable(func(o owner, _ int64) bool { return orphan(o) }) {
			continue
		}
		how := removal{foreground: true, sure: func() error { return w.sureOfOrphan(c, name, item) }}
		_ = w.retract(c, workload{name: name, uid: item.value.uid, deleting: true}, how, func(o owner, _ int64) bool { return orphan(o) })
	}
}

// seen returns the names of all objects in a worker's caches, sorted.
func seen(r *remote) []string {
	var names []string
	for name := range r.watch.copies.cache {
		names = append(names, name)
	}
	for name := range r.watch.jobs.cache {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
