package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// callFault is what goes wrong in one turn of the dispatcher: its call number at (from 1) fails before it takes effect, or
// fails after it has, is held up and lands later though it has failed, or is the last before the program crashes.
type callFault struct {
	kind string // "", "fail", "late", "held" or "crash"
	at   int
}

var (
	errRefused    = errors.New("the call was refused")
	errUnanswered = errors.New("the call was not answered")
	errCrashed    = errors.New("the program crashed")
)

// stepDispatch is one turn of the dispatcher for one Workload: observe, step, and then either write or act.
func (w *World) stepDispatch(name string, f callFault) {
	item := w.driver.localInformer.get(name)
	if !item.exists {
		w.forgetDeleted(name)
		return
	}
	if w.isCacheBehindWrites(item.value) || w.driver.idleAt[name] == w.checkpoint() || !w.needsDecision(item.value) {
		return
	}
	t := w.newDecision(item.value, f)
	w.driver.requeueAt[name] = t.plan.WakeAt
	w.history.checkUnresponsive(t)
	w.history.checkRetainedPlan(t)
	t.assumeNominations()
	switch err := t.carryOutPlan(); {
	case errors.Is(err, errCrashed):
		w.crashDriver()
		return
	case err == nil:
		t.observeDone()
	}
	t.renewAwaitedLeases()
	if t.calls == 0 && len(t.plan.Actions) == 0 {
		w.driver.idleAt[name] = w.checkpoint()
	}
}

// isCacheBehindWrites reports whether the program's own last write of a Workload, or of another slice of its job, is not seen yet.
func (w *program) isCacheBehindWrites(item workload) bool {
	for name, other := range w.driver.localInformer.cache {
		if same := name == item.name || item.elastic && other.elastic && jobOf(name) == jobOf(item.name); same && other.rv < w.driver.written[name] {
			return true
		}
	}
	return false
}

// checkpoint is when nothing has changed since: a turn that had nothing to do would have nothing to do again.
type checkpoint struct {
	version, commandCount int
	now                   time.Time
}

func (w *World) checkpoint() checkpoint { return checkpoint{w.version, w.commandCount, w.now} }

// newDecision observes a Workload and asks Step about it.
func (w *World) newDecision(item workload, f callFault) *decision {
	t := &w.decision // the one before is over
	*t = decision{World: w, item: item, fault: f, state: item.state(), policy: w.policyFor(item)}
	if item.elastic {
		t.item.view = w.viewSlice(item)
		item = t.item
	}
	t.obs = w.observe(item)
	if t.obs.Local.Siblings.Pin != "" {
		w.history.lastPinned[item.uid] = w.now
	}
	t.plan = w.parts.Step(t.state, t.obs, w.stepPolicy(item))
	return t
}

// decision is a dispatcher's turn under way.
type decision struct {
	*World
	// policy is what holds for the Workload.
	policy dispatch.Policy
	item   workload
	state  dispatch.State
	obs    dispatch.Observation
	plan   dispatch.Plan
	fault  callFault
	calls  int
	// action is what the present call is for.
	action dispatch.Action
}

// carryOutPlan writes or acts, and stops at the first failure.
func (t *decision) carryOutPlan() error {
	if t.plan.Stores && !t.parts.DriverBugs.ActsBeforeWrite {
		return t.makeCall(t.writeState)
	}
	actions, until := t.driver.tracker.DeferJobCreation(trackedWorkload(t.item), t.plan.Actions, t.isRemovalPending, t.now)
	t.driver.requeueAt[t.item.name] = earlierTime(t.plan.WakeAt, until)
	for _, a := range actions {
		t.driver.tracker.Submitted(trackedWorkload(t.item), a, t.now)
	}
	for _, a := range actions {
		t.history.checkAction(t, a)
		if t.out != nil {
			t.logf("%s: %s (%s)", t.item.name, formatAction(a), t.plan.Reason)
		}
		err := t.performAction(a)
		t.recordCallError(a, err)
		if err != nil {
			return err
		}
	}
	if t.plan.Stores {
		return t.makeCall(t.writeState)
	}
	if t.item.deleting && !t.item.retained && t.plan.NothingReachable {
		return t.makeCall(t.releaseDeleted)
	}
	return nil
}

// performAction carries out one action, in one call or two.
func (t *decision) performAction(a dispatch.Action) error {
	t.action = a
	if a.Verb == dispatch.Finish {
		return t.finishWorkload(a)
	}
	return t.callWorker(a)
}

// recordCallError remembers that a worker refused a call. A worker that is away does not even do that.
func (t *decision) recordCallError(a dispatch.Action, err error) {
	if !a.Remote() || t.driver == nil || !t.lookupWorker(a.Cluster).up {
		return
	}
	trouble := t.driver.remotes[a.Cluster].callErrors
	delete(trouble, t.item.name)
	if err != nil {
		trouble[t.item.name] = err.Error()
	}
}

// makeCall makes one API call, with the turn's fault if it is due.
func (t *decision) makeCall(do func() error) error {
	t.calls++
	if t.calls != t.fault.at {
		return do()
	}
	switch t.fault.kind {
	case "fail":
		t.logf("%s: the call fails", t.item.name)
		return errRefused
	case "late":
		_ = do()
		t.logf("%s: the call takes effect but fails", t.item.name)
		return errUnanswered
	case "held":
		t.holdCall()
		t.logf("%s: the call is held up and fails", t.item.name)
		return errUnanswered
	case "crash":
		_ = do()
		t.logf("%s: the hub crashes", t.item.name)
		return errCrashed
	}
	return do()
}

// prepareReservation adds to a reservation that is about to be stored what the dispatcher would store next, if that may go with it.
func (w *World) prepareReservation(item workload) workload {
	if !w.needsDecision(item) {
		return item
	}
	t := w.newDecision(item, callFault{})
	if !t.plan.FitsReservationWrite(t.state, t.obs.Local) {
		return item
	}
	after := item.withState(t.plan.Next)
	w.history.checkWrite(t, item, after)
	t.assumeNominations()
	if w.out != nil {
		w.logf("%s: %s: with the reservation, %s", item.name, t.plan.Reason, formatWrite(t.state, t.plan, item))
	}
	return after
}

// writeState stores Next and CheckResult in one status write, on condition that the Workload was not written since.
func (t *decision) writeState() error {
	now, ok := t.hub.workloads[t.item.name]
	if !ok || now.ownRV != t.item.ownRV && !t.parts.DriverBugs.IgnoresConflicts {
		return errRefused
	}
	now = now.withState(t.plan.Next)
	if t.obs.Local.Check.State != "" {
		now.check, now.message = t.plan.CheckResult.State, t.plan.CheckResult.Message
	}
	t.history.checkWrite(t, t.hub.workloads[t.item.name], now)
	t.driver.tracker.Bound(trackedWorkload(t.item), t.state, t.obs, t.policy, t.plan)
	if t.out != nil {
		t.logf("%s: %s: %s", t.item.name, t.plan.Reason, formatWrite(t.state, t.plan, t.item))
	}
	t.driver.written[now.name] = t.putWorkload(now).rv
	return nil
}

// releaseDeleted lets a deleted Workload go.
func (t *decision) releaseDeleted() error {
	if now, ok := t.hub.workloads[t.item.name]; ok && now.deleting && !now.retained && now.uid == t.item.uid {
		t.removeFinalizer(now)
	}
	return nil
}

// runAction carries out one action.
func (t *decision) runAction(a dispatch.Action) error {
	c := t.lookupWorker(a.Cluster) // nil for DrainStatus
	if a.Remote() {
		if !c.up {
			return errUnanswered
		}
		if a.Verb != dispatch.LiveRead && !t.parts.DriverBugs.KeepsLiveReads {
			delete(t.driver.remotes[c.name].liveReads, t.item.name)
		}
	}
	switch a.Verb {
	case dispatch.CreateOffer:
		if err := t.confirmOffer(); err != nil {
			return err
		}
		return t.createOffer(c, a)
	case dispatch.UpdateOffer:
		if err := t.confirmOffer(); err != nil {
			return err
		}
		return t.updateOffer(c, a)
	case dispatch.CreateJob:
		if t.item.elastic {
			if err := t.confirmOffer(); err != nil {
				return err
			}
		}
		return t.createJob(c, a)
	case dispatch.Retract:
		how := removalOptions{spareFinished: a.SpareFinished, foreground: a.Foreground, keepJob: a.OnlyCopy}
		how.shown = func() (remoteWorkload, bool) {
			seen := t.driver.remotes[c.name].informers.workloads.get(t.item.name)
			return seen.value, seen.exists
		}
		how.unchanged = func(obj remoteWorkload) bool {
			seen, _ := how.shown()
			return obj == seen
		}
		if job, there := c.jobs[jobOf(t.item.name)]; there && !a.OnlyCopy && job.running && a.Foreground && !t.item.quota {
			t.recordEvent(RemovedWithoutQuota)
		}
		how.confirm = func() error { return t.confirmRemoval(c, t.item) }
		how.spared = func() { _ = t.readLive(c, dispatch.Action{Epoch: t.state.Epoch}) }
		return t.retractObjects(c, t.item, how, func(o owner, epoch int64) bool {
			return o.ours && (o.uid != t.item.uid || dispatch.IsBelow(epoch, a.Epoch))
		})
	case dispatch.OpenGate:
		return t.openGate(c, a)
	case dispatch.EvictRemote:
		return t.evictRemote(c, a)
	case dispatch.LiveRead:
		return t.readLive(c, a)
	case dispatch.CopyStatus:
		return t.copyJobStatus(t.driver.remotes[a.Cluster].informers.jobs.get(jobOf(t.item.name)))
	case dispatch.DrainStatus:
		return t.setJobStatus(jobStatus{})
	case dispatch.ResizeJob:
		if err := t.confirmOffer(); err != nil {
			return err
		}
		return t.resizeJob(c, a)
	case dispatch.Finish, dispatch.SyncSpec: // the first is the caller's; no job of the simulation changes what another follows
	}
	panic(fmt.Sprintf("sim: unknown verb %s", a.Verb))
}

// sweepOrphans removes remote objects whose owner is no more.
func (w *World) sweepOrphans(c *worker) {
	r := w.driver.remotes[c.name]
	if r.link.State != dispatch.Connected || !c.up {
		return
	}
	for _, name := range cachedNames(r) {
		item := w.driver.localInformer.get(name)
		orphan := func(o owner) bool { return o.ours && (!item.exists || item.value.uid != o.uid) }
		if isElasticJob(r, name) {
			w.sweepSlices(c, name)
			continue
		}
		if !orphan(r.informers.workloads.cache[name].owner) && !r.informers.jobs.cache[name].isRemovable(item.value, func(o owner, _ int64) bool { return orphan(o) }) {
			continue
		}
		how := removalOptions{foreground: true, confirm: func() error { return w.confirmOrphanRemoval(c, name, item) }}
		_ = w.retractObjects(c, workload{name: name, uid: item.value.uid, deleting: true}, how, func(o owner, _ int64) bool { return orphan(o) })
	}
}

// cachedNames returns the names of all objects in a worker's caches, sorted.
func cachedNames(r *remoteState) []string {
	var names []string
	for name := range r.informers.workloads.cache {
		names = append(names, name)
	}
	for name := range r.informers.jobs.cache {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
