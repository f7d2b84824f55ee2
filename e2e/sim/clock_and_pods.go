package sim

import (
	"slices"
	"time"

	"switchyard.dev/worker/fence"
)

// What happens whether any program takes a step or not: leases are renewed as long as the hub reaches the worker, the fence
// of a worker looks at them, and pods that were told to stop end when their grace is over.

const (
	// leaseDuration is how long the hub's renewal holds, and renewEvery how often it renews.
	leaseDuration = 40 * time.Second
	renewEvery    = 10 * time.Second
	// skewMargin is what run once allows for, the same as in the shipped program. The model spends all of it: clocks differ by up to maxSkew, a fence may be
	// late by maxLate, and its program down for up to maxDown.
	skewMargin = maxSkew + maxLate + maxDown
	maxSkew    = 5 * time.Second
	maxLate    = 5 * time.Second
	maxDown    = 30 * time.Second
)

// FenceFunc is fence.Step, or a mutant of it.
type FenceFunc func(fence.State, fence.Observation) fence.Plan

// workerFence is the part of a worker's program that looks at the hub's run lease.
type workerFence struct {
	// stock is set if the worker has none.
	stock bool
	// stopsWithin is how long the fence says that it needs to stop its jobs, if that is more than usual.
	stopsWithin time.Duration
	// skew is how much the worker's clock is ahead of the hub's.
	skew time.Duration
	// renewed is the hub's lease as it is stored there, zero if there is none; denied is set while the hub has no right to renew it.
	renewed time.Time
	denied  bool
	// started is when the program started last; downUntil is when it starts again, if that is to come.
	started, downUntil time.Time
	// lookedAt is when it looked last, and state what it remembers.
	lookedAt time.Time
	state    fence.State
}

// isDown reports whether the worker's program is not there: nothing is admitted, evicted, started or stopped meanwhile.
func (c *worker) isDown(now time.Time) bool { return now.Before(c.fence.downUntil) }

// orphanedPods are pods that outlive their job's object.
type orphanedPods struct {
	name     string
	ownerJob remoteJob
	until    time.Time
}

// passTime lets time go by.
func (w *program) passTime(to time.Time) {
	if to.Before(w.now) {
		return
	}
	w.renewDueLeases(to)
	for _, c := range w.workers {
		if to.After(w.now) && w.driver != nil && w.driver.remotes[c.name].link.Untried {
			w.probeWorker(c) // the next attempt does not take long
		}
	}
	for range 100000 {
		at, happen := w.nextEvent(to)
		if happen == nil {
			break
		}
		if at.After(w.now) {
			w.now = at
		}
		happen()
	}
	w.now = to
}

// nextEvent is what happens next until a time, nil for nothing.
func (w *workerClusters) nextEvent(until time.Time) (at time.Time, happen func()) {
	consider := func(when time.Time, do func()) {
		if !when.IsZero() && !when.After(until) && (happen == nil || when.Before(at)) {
			at, happen = when, do
		}
	}
	for _, c := range w.workers {
		for name, job := range c.jobs {
			if job.running && !job.stopAt.IsZero() {
				consider(job.stopAt, func() { w.endPods(c, name) })
			}
			if until.After(w.now) && !w.frozen[c.name] && c.mustStopJob(name, job) {
				consider(laterTime(w.now, c.fence.downUntil), func() { w.putJob(c, name, w.stopPods(job)) })
			}
		}
		for _, g := range c.orphanedPods {
			consider(g.until, func() { w.endOrphanedPods(c, g) })
		}
		consider(w.fenceDueAt(c), func() { w.stepFence(c) })
	}
	return at, happen
}

// mustStopJob reports whether a job runs though its copy is being deactivated, or evicted. The worker's program does
// something about that before time goes by: else a clock that runs without steps would break the law.
func (c *worker) mustStopJob(name string, job remoteJob) bool {
	obj, there := c.workloads[name]
	if job.elastic {
		runs, _ := c.chooseSlice(name, job)
		obj, there = c.workloads[runs]
		obj.owner = job.owner // it has taken that up
	}
	return there && (obj.deactivating || obj.evicted) && obj.owner == job.owner && job.running && job.stopAt.IsZero()
}

// endPods stops a job whose termination grace is over.
func (w *workerClusters) endPods(c *worker, name string) {
	job := c.jobs[name]
	job.running, job.stopAt = false, time.Time{}
	w.putJob(c, name, job)
}

func (w *workerClusters) endOrphanedPods(c *worker, g orphanedPods) {
	c.orphanedPods = slices.DeleteFunc(c.orphanedPods, func(other orphanedPods) bool { return other == g })
	w.markChanged()
}

// stopPods tells the pods of a job to stop; they take their time.
func (w *workerClusters) stopPods(job remoteJob) remoteJob {
	switch {
	case !job.running || !job.stopAt.IsZero():
	case job.killGrace == 0:
		job.running = false
	default:
		job.stopAt = w.now.Add(job.killGrace)
	}
	return job
}

// fenceDueAt is when a fence looks next, if that can change anything: as late as it may be, and at once when its program starts.
func (w *workerClusters) fenceDueAt(c *worker) time.Time {
	g := &c.fence
	if g.stock || !slices.ContainsFunc(c.fencedJobs(), fence.Workload.IsStoppable) {
		return time.Time{}
	}
	out := g.started.Add(fence.DefaultDuration)
	if !g.renewed.IsZero() {
		out = g.renewed.Add(leaseDuration - g.skew)
	}
	due := out.Add(max(maxLate, g.stopsWithin))
	if !g.downUntil.Before(out) {
		due = g.downUntil
	}
	if again := g.lookedAt.Add(fence.CheckInterval); due.Before(again) && !g.lookedAt.Before(g.started) {
		due = again
	}
	return due
}

// fencedJobs are the hub's Workloads on a worker as its fence sees them.
func (c *worker) fencedJobs() []fence.Workload {
	var jobs []fence.Workload
	for _, name := range c.objectNames() {
		if obj, ok := c.workloads[name]; ok && obj.ours {
			jobs = append(jobs, fence.Workload{
				Name: name, Stop: obj.stopsWithoutHub, Finished: obj.finished != nil, Stopping: obj.deactivating || obj.deleting, HasQuota: obj.quota,
			})
		}
	}
	return jobs
}

// stepFence is one look of a worker's fence: the real one decides. Stopping a job is evicting its Workload and telling its pods.
func (w *workerClusters) stepFence(c *worker) {
	g := &c.fence
	if g.stock || c.isDown(w.now) {
		return
	}
	g.lookedAt = w.now
	o := fence.Observation{Now: w.now.Add(g.skew), Uptime: w.now.Sub(g.started), Workloads: c.fencedJobs()}
	if !g.renewed.IsZero() {
		o.Lease = &fence.Lease{Renewed: g.renewed, Duration: leaseDuration}
	}
	plan := w.parts.Fence(g.state, o)
	g.state = plan.Next
	for _, stop := range plan.Stop {
		obj := c.workloads[stop.Name]
		w.history.checkFenceStop(w, c, stop.Name, obj)
		w.logf("%s: the fence stops %s", c.name, stop.Name)
		obj.deactivating, obj.evicted = true, obj.evicted || obj.quota
		w.putRemoteWorkload(c, stop.Name, obj)
		if job, ok := c.jobs[jobOf(stop.Name)]; ok && job.running && !c.permit(stop.Name, job).goOn {
			w.putJob(c, jobOf(stop.Name), w.stopPods(job))
		}
	}
}

// crashWorker ends the program of a worker, for a time that the margin allows; it forgets what its fence has seen.
func (w *workerClusters) crashWorker(c *worker, pause time.Duration) {
	if c.isDown(w.now) || pause > maxDown {
		return
	}
	c.fence.downUntil = w.now.Add(pause)
	c.fence.started, c.fence.state = c.fence.downUntil, fence.State{}
	c.forgetEpochs()
	w.markChanged()
}

// nextWorkerEvent is when something will happen on a worker by itself that others will want to see.
func (w *program) nextWorkerEvent(c *worker) (at time.Time) {
	for _, job := range c.jobs {
		if job.running && job.stopAt.After(w.now) {
			at = earlierTime(at, job.stopAt)
		}
	}
	if c.fence.downUntil.After(w.now) {
		at = earlierTime(at, c.fence.downUntil)
	}
	for _, g := range c.orphanedPods {
		at = earlierTime(at, g.until)
	}
	if due := w.fenceDueAt(c); due.After(w.now) && (!c.up || !w.canRenew(c)) {
		at = earlierTime(at, due)
	}
	return at
}
