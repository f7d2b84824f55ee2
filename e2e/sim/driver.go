package sim

import (
	"maps"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/admissioncheck/multikueue/tracker"
)

// program is the dispatcher's process on the hub: what it is shown of the workers, and what it believes of them.
type program struct {
	*workerClusters
	// driver is what the process holds in memory; nil while it is down.
	driver *driver
	// views are what the last decision was shown; the next one takes their place.
	views []dispatch.ClusterView
}

// driver is the dispatcher's shell in the hub's process: everything in it is lost in a crash.
type driver struct {
	started time.Time
	// startVersion is the newest version of a Workload when it started.
	startVersion int64
	// localInformer is the informer on the hub's own Workloads; written is the resource version of our last write of each.
	localInformer *informer[workload]
	written       map[string]int64
	// remotes has one entry per worker that was ever connected to.
	remotes map[string]*remoteState
	// tracker is what the program has done and cannot see yet; connectivity what it said of the connections last.
	tracker      Tracker
	connectivity tracker.Connectivity
	// cutOffFrom are the clusters that the hub is cut off from, and cutOffEnded when it ceased to be last, by what the laws say.
	cutOffFrom  []string
	cutOffEnded time.Time
	// gateCalls are the calls to open a gate that were not refused, by the laws' own count.
	gateCalls map[gateCall]bool
	// choices is the last ranking of each Workload.
	choices map[string]map[string]placement.Choice
	// drainedAt is when the last turn to leave each cluster began.
	drainedAt map[string]time.Time
	// requeueAt is when to look at a Workload again, and idle when there was nothing to do about it.
	requeueAt map[string]time.Time
	idleAt    map[string]checkpoint
}

// gateCall is a call to open the gate of a Workload's copy on a cluster.
type gateCall struct {
	attempt attempt
	cluster string
}

// remoteState is what the program knows of one worker.
type remoteState struct {
	link dispatch.Link
	// connection is the number of the connection.
	connection int64
	informers  *informers
	liveReads  map[string]liveAnswer
	// renewedAt is when the last renewal of the run lease began that may have taken place.
	renewedAt time.Time
	// lease is how its lease stands.
	lease leaseRecord
	// callErrors is why the last call failed that was made for a Workload.
	callErrors map[string]string
	// capacity is what the worker has reported, if it has.
	capacity   reportedCapacity
	reported   bool
	reportedAt time.Time
}

// liveAnswer is what a live read found.
type liveAnswer struct {
	epoch int64
	at    time.Time
	copy  optional[remoteWorkload]
	job   optional[remoteJob]
}

// startDriver starts the program: it lists the hub's Workloads, as they were so many changes ago, and knows nothing of any worker.
func (w *program) startDriver(old int) {
	p := &driver{
		started: w.now, startVersion: w.hub.lastVersion,
		localInformer: newInformer[workload](),
		written:       map[string]int64{},
		remotes:       map[string]*remoteState{},
		requeueAt:     map[string]time.Time{},
		idleAt:        map[string]checkpoint{},
		drainedAt:     map[string]time.Time{},
		gateCalls:     map[gateCall]bool{},
		tracker:       w.parts.NewTracker(w.policy.CutOffWindow),
		choices:       map[string]map[string]placement.Choice{},
	}
	p.localInformer.watching = true
	p.localInformer.cache, p.localInformer.queue = w.hub.rewind(old)
	w.driver, w.hub.watcher = p, p.localInformer
	for _, c := range w.workers {
		c.informers = newInformers()
		p.remotes[c.name] = &remoteState{informers: c.informers, liveReads: map[string]liveAnswer{}, renewedAt: w.now, callErrors: map[string]string{}}
		if w.parts.DriverBugs.ForgetsLeaseOnRestart {
			p.remotes[c.name].renewedAt = startTime()
		}
	}
	w.markChanged()
}

// crashDriver ends the program.
func (w *program) crashDriver() {
	if w.isTakingOver() {
		w.recordEvent(TakeoverInterrupted)
	}
	w.driver, w.hub.watcher = nil, nil
	for _, c := range w.workers {
		c.informers = newInformers()
	}
	w.markChanged()
}

// probeWorker lets the program find out whether a worker can be reached, and list it anew if its watch has ended.
func (w *program) probeWorker(c *worker) {
	r := w.driver.remotes[c.name]
	switch {
	case !c.up && r.link.State != dispatch.Unreachable:
		lost := dispatch.Link{State: dispatch.Unreachable, Since: w.now, Untried: true}
		if r.link.State == dispatch.Unknown {
			lost.Since, lost.NeverConnected, lost.Untried = w.driver.started, true, false
		}
		r.link = lost
		c.informers.workloads.stop()
		c.informers.jobs.stop()
	case !c.up && r.link.Untried:
		r.link.Untried = false
	case c.up && (r.link.State != dispatch.Connected || !c.informers.workloads.watching || !c.informers.jobs.watching):
		if r.link.State == dispatch.Unreachable && !r.link.NeverConnected && !w.isGraceOver(c.name) {
			w.recordEvent(LostClusterReturns)
		}
		if r.link.State != dispatch.Connected {
			r.connection++
		}
		r.link = dispatch.Link{State: dispatch.Connected}
		if c.fence.stopsWithin > 0 {
			w.recordEvent(SlowFence)
		}
		c.informers.workloads.relist(c.workloads)
		c.informers.jobs.relist(c.listedJobs())
		w.hub.fenceSeen[c.name] = !c.fence.stock && (c.fence.stopsWithin <= skewMargin-maxSkew || w.parts.DriverBugs.TrustsAnyFence)
		w.renewLease(c, true)
	default:
		return
	}
	r.liveReads = map[string]liveAnswer{}
	w.updateCutOff()
	w.markChanged()
}

// deliverRemote lets the program see the next event of a worker's copies or jobs.
func (w *program) deliverRemote(c *worker, kind string) bool {
	r := w.driver.remotes[c.name]
	deliver := r.informers.workloads.deliverNext
	if kind == "jobs" {
		deliver = r.informers.jobs.deliverNext
	}
	name, ok := deliver()
	if !ok {
		return false
	}
	if name == "" && !w.parts.DriverBugs.KeepsLiveReads {
		r.liveReads = map[string]liveAnswer{}
	}
	if !w.parts.DriverBugs.KeepsLiveReads {
		maps.DeleteFunc(r.liveReads, func(of string, _ liveAnswer) bool { return of == name || kind == "jobs" && jobOf(of) == name })
	}
	w.markChanged()
	return true
}

// deliverLocal lets the program see the next change of the hub's own Workloads.
func (w *program) deliverLocal() bool {
	_, ok := w.driver.localInformer.deliverNext()
	if ok {
		w.markChanged()
	}
	return ok
}
