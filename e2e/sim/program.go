package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
)

// program is the dispatcher's shell in the hub's process: everything in it is lost in a crash.
type program struct {
	started time.Time
	// began is the newest version of a Workload when it started.
	began int64
	// local is the informer on the hub's own Workloads; written is the resource version of our last write of each.
	local   *stream[workload]
	written map[string]int64
	// remote has one entry per worker that was ever connected to.
	remote map[string]*remote
	// cutOff and cutOffEnded follow dispatch.HubCutOff.
	cutOff      bool
	cutOffEnded time.Time
	// asked are the clusters that were asked to open a Workload's gate.
	asked map[string]map[string]gateAsked
	// books are the offers under way, and choices the last ranking of each Workload.
	books   *placement.Ledger
	choices map[string]map[string]placement.Choice
	// turns says whose turn it is to leave each cluster that is being drained.
	turns map[string]drainTurn
	// wakes is when to look at a Workload again, and idle when there was nothing to do about it.
	wakes map[string]time.Time
	idle  map[string]moment
}

// remote is what the program knows of one worker.
type remote struct {
	link  dispatch.Link
	watch *watch
	live  map[string]answer
	// offered is when offers were begun to be made there.
	offered map[string]offer
	// renewedAt is when the last renewal of the run lease began that may have taken place.
	renewedAt time.Time
	// tenure is how its lease stands.
	tenure tenure
	// trouble is why the last call failed that was made for a Workload.
	trouble map[string]string
	// room is what the worker has reported, if it has.
	room     room
	reported bool
}

// answer is what a live read found.
type answer struct {
	epoch int64
	at    time.Time
	copy  present[copied]
	job   present[remoteJob]
}

// offer is when the offer of an epoch was begun to be made.
type offer struct {
	of attempt
	at time.Time
}

// boot starts the program: it lists the hub's Workloads, as they were so many changes ago, and knows nothing of any worker.
func (w *World) boot(old int) {
	p := &program{
		started: w.now, began: w.hub.last,
		local:   newStream[workload](),
		written: map[string]int64{},
		remote:  map[string]*remote{},
		wakes:   map[string]time.Time{},
		idle:    map[string]moment{},
		asked:   map[string]map[string]gateAsked{},
		turns:   map[string]drainTurn{},
		books:   placement.NewLedger(),
		choices: map[string]map[string]placement.Choice{},
	}
	p.local.open = true
	p.local.cache, p.local.queue = w.hub.ago(old)
	w.program = p
	for _, c := range w.workers {
		c.watch = newWatch()
		p.remote[c.name] = &remote{watch: c.watch, live: map[string]answer{}, offered: map[string]offer{}, renewedAt: w.now, trouble: map[string]string{}}
		if w.parts.Shell.TrustsItsMemory {
			p.remote[c.name].renewedAt = epoch()
		}
	}
	w.changed()
}

// crash ends the program.
func (w *World) crash() {
	w.program = nil
	for _, c := range w.workers {
		c.watch = newWatch()
	}
	w.changed()
}

// probe lets the program find out whether a worker can be reached, and list it anew if its watch has ended.
func (w *World) probe(c *worker) {
	r := w.program.remote[c.name]
	switch {
	case !c.up && r.link.State != dispatch.Unreachable:
		lost := dispatch.Link{State: dispatch.Unreachable, Since: w.now, Untried: true}
		if r.link.State == dispatch.Unknown {
			lost.Since, lost.Never, lost.Untried = w.program.started, true, false
		}
		r.link = lost
		c.watch.copies.drop()
		c.watch.jobs.drop()
	case !c.up && r.link.Untried:
		r.link.Untried = false
	case c.up && (r.link.State != dispatch.Connected || !c.watch.copies.open || !c.watch.jobs.open):
		if r.link.State == dispatch.Unreachable && !r.link.Never && !w.graceOver(c.name) {
			w.reach(Returns)
		}
		r.link = dispatch.Link{State: dispatch.Connected}
		if c.guard.within > 0 {
			w.reach(Sluggish)
		}
		c.watch.copies.relist(c.copies)
		c.watch.jobs.relist(c.shownJobs())
		w.hub.fenced[c.name] = !c.guard.stock && (c.guard.within <= skewMargin-maxSkew || w.parts.Shell.TakesAnyFence)
		w.renew(c, true)
	default:
		return
	}
	r.live = map[string]answer{}
	w.followCutOff()
	w.changed()
}

func (w *World) followCutOff() {
	p := w.program
	var links []dispatch.Link
	for _, c := range w.workers {
		links = append(links, p.remote[c.name].link)
	}
	now := dispatch.HubCutOff(links, w.policy.CutOffWindow)
	if p.cutOff && !now {
		p.cutOffEnded = w.now
	}
	if now && !p.cutOff {
		w.reach(HubCutOff)
	}
	p.cutOff = now
}

// deliver lets the program see the next event of a worker's copies or jobs.
func (w *World) deliver(c *worker, kind string) bool {
	r := w.program.remote[c.name]
	deliver := r.watch.copies.deliver
	if kind == "jobs" {
		deliver = r.watch.jobs.deliver
	}
	name, ok := deliver()
	if !ok {
		return false
	}
	if name == "" && !w.parts.Shell.KeepsAnswers {
		r.live = map[string]answer{}
	}
	if !w.parts.Shell.KeepsAnswers {
		delete(r.live, name)
	}
	w.changed()
	return true
}

// deliverLocal lets the program see the next change of the hub's own Workloads.
func (w *World) deliverLocal() bool {
	_, ok := w.program.local.deliver()
	if ok {
		w.changed()
	}
	return ok
}
