package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
)

// horizon is how long a healed World may take to come to rest.
const horizon = 48 * time.Hour

// Run carries out a script, one command a line, # for comments, and stops at the first broken invariant.
func (w *World) Run(script string) error {
	for n, line := range strings.Split(script, "\n") {
		if err := w.Do(line); err != nil {
			return fmt.Errorf("line %d: %q: %w", n+1, line, err)
		}
		if w.ledger.violation != "" {
			return nil
		}
	}
	return nil
}

// Do carries out one command. Commands about things that are not there do nothing, so that a script stays one when lines
// are taken out of it.
func (w *World) Do(line string) error {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	do, ok := w.commands[words[0]]
	if !ok {
		return errors.New("no such command")
	}
	w.done++
	if err := do(command{World: w, args: words[1:]}); err != nil {
		return err
	}
	return nil
}

// command is one line of a script.
type command struct {
	*World
	args []string
}

// verbs are the commands of all Worlds, which none changes.
var verbs = sync.OnceValue(commands)

// commands is what a verb does. The first group sets the scene, the second lets something happen to it, the third gives
// one actor one turn, the fourth lets all run.
func commands() map[string]func(command) error {
	return map[string]func(command) error{
		"clusters": command.clusters, "hub-gpu": command.hubGPU, "submit": command.submit,
		"dispatcher": command.dispatcher, "nominate": command.nominate,

		"delete": command.delete, "discard": command.discard, "remake": command.remake, "config": missing(func(h *hub) *bool { return &h.noConfig }),
		"check": missing(func(h *hub) *bool { return &h.noCheck }), "unask": command.unask, "turn": command.turnOf,
		"declare": command.declare, "blink": command.blink, "sluggish": command.sluggish, "ask": command.ask, "reorder": command.reorder,

		"evict": command.evictOne, "partition": link(false), "reconnect": link(true),
		"crash": command.crashHub, "restart": command.restart, "list": list(true), "unlist": list(false),
		"stamp": command.stamp, "scribble": command.scribble, "remove": command.remove, "wipe": command.wipe, "out-of-sync": command.outOfSync, "foreign": command.foreign, "forget": command.forget,
		"forge": command.forge, "relabel": command.relabel,
		"reprioritize": command.reprioritize, "resize": command.resize, "slow": slow(true), "fast": slow(false), "drop": command.drop,

		"policy": command.setPolicy, "stock": command.stock, "skew": command.skew, "down": command.downWorker, "gone": command.gone, "back": command.back,
		"deny": deny(true), "grant": deny(false),
		"cordon": mark(cordons, true), "uncordon": mark(cordons, false), "drain": mark(drains, true), "undrain": mark(drains, false),

		"squat": command.squat, "weight": command.weigh, "checks": command.checks, "orchestrate": command.orchestrate, "by-name": command.byName,
		"taint": trait(func(w *worker) { w.tainted = true }), "bare": trait(func(w *worker) { w.bare = true }),
		"hold": trait(func(w *worker) { w.onHold = true }), "release": trait(func(w *worker) { w.onHold = false }),
		"land": always((*World).land),

		"fence": command.lookTurn, "renew": command.renewTurn, "report": command.reportTurn,
		"dispatch": command.dispatchTurn, "core": command.coreTurn, "work": command.workTurn, "deliver": command.deliverTurn,
		"probe": command.probeTurn, "sweep": command.sweepTurn,
		"clock": advance(func(w *World, d time.Duration) { w.pass(w.now.Add(d)) }),

		"round": always(func(w *World) { w.round() }), "until-quiet": always((*World).untilQuiet), "tick": advance((*World).tick),
		"settle": always(func(w *World) { w.settle(horizon) }), "freeze": freeze(true), "thaw": freeze(false),
		"heal": always((*World).heal), "final": always((*World).final), "show": always((*World).show),
	}
}

func always(do func(*World)) func(command) error {
	return func(c command) error { do(c.World); return nil }
}

func advance(do func(*World, time.Duration)) func(command) error {
	return func(c command) error {
		d, err := time.ParseDuration(c.arg(0))
		if err == nil {
			do(c.World, d)
		}
		return err
	}
}

// arg returns an argument, "" if it is missing.
func (c command) arg(n int) string {
	if n >= len(c.args) {
		return ""
	}
	return c.args[n]
}

// option returns the value of a key=value argument.
func (c command) option(key, otherwise string) string {
	for _, a := range c.args {
		if value, ok := strings.CutPrefix(a, key+"="); ok {
			return value
		}
	}
	return otherwise
}

// clusters w1 w2=4: workers with their GPUs (8 if not said), all listed in this order.
func (c command) clusters() error {
	for _, a := range c.args {
		name, gpu, found := strings.Cut(a, "=")
		if !found {
			gpu = "8"
		}
		n, err := strconv.ParseInt(gpu, 10, 64)
		if err != nil {
			return err
		}
		c.workers = append(c.workers, &worker{
			name: name, gpu: n, up: true, guard: guard{started: c.now}, snapshot: newSnapshot(), copies: map[string]copied{}, jobs: map[string]remoteJob{},
			weight: placement.DefaultWeight, over: map[int64]int64{},
		})
		c.workers[len(c.workers)-1].rule()
		c.hub.listed = append(c.hub.listed, name)
	}
	c.boot(0)
	return nil
}

// hub-gpu 8: the hub's quota.
func (c command) hubGPU() (err error) {
	c.hub.gpu, err = strconv.ParseInt(c.arg(0), 10, 64)
	return err
}

// dispatcher incremental [step=1], dispatcher best-fit [hedge=10s], or dispatcher external: instead of offering to all at once.
func (c command) dispatcher() error {
	step, err := strconv.Atoi(c.option("step", "3"))
	if err != nil {
		return err
	}
	c.policy.StepSize = step
	switch c.arg(0) {
	case "incremental":
		c.policy.Dispatcher = dispatch.Incremental
	case "best-fit":
		hedge, err := time.ParseDuration(c.option("hedge", "10s"))
		if err != nil {
			return err
		}
		c.policy.Dispatcher, c.policy.HedgeAfter = dispatch.BestFit, hedge
	case "external":
		c.policy.Dispatcher = dispatch.External
	default:
		return errors.New("no such dispatcher")
	}
	return nil
}

// nominate j1 w1 w2: by a dispatcher of somebody else.
func (c command) nominate() error {
	c.World.nominate(c.arg(0), c.args[1:])
	return nil
}

// submit j1 gpu=4 run=30s ttl=10s kill=30s with=j2 taint=tolerates checks=wait jobs=theirs
func (c command) submit() error {
	if _, exists := c.hub.items[c.arg(0)]; exists {
		return nil
	}
	gpu, err := strconv.ParseInt(c.option("gpu", "1"), 10, 64)
	if err != nil {
		return err
	}
	run, err := time.ParseDuration(c.option("run", "1m"))
	if err != nil {
		return err
	}
	ttl, err := time.ParseDuration(c.option("ttl", "-1s"))
	if err != nil {
		return err
	}
	kill, err := time.ParseDuration(c.option("kill", "0s"))
	if err != nil {
		return err
	}
	c.hub.last++
	c.World.submit(workload{
		name: c.arg(0), job: c.hub.last, jobRV: c.hub.last, gpu: gpu, run: run, ttl: ttl, kill: kill, sibling: c.option("with", ""),
		tolerates: c.option("taint", "") == "tolerates", unchecked: c.option("checks", "") == "wait", alien: c.option("jobs", "") == "theirs",
	})
	return nil
}

// update changes a Workload that is there.
func (c command) update(change func(*workload)) error {
	if item, ok := c.hub.items[c.arg(0)]; ok {
		change(&item)
		c.put(item)
	}
	return nil
}

// delete j1: the job, and its Workload with it.
func (c command) delete() error {
	return c.update(func(item *workload) { item.deleting, item.kept, item.job = true, false, 0 })
}

// evict hub j1, or evict w1 j1 [for=1m]: how long the worker does not admit it again.
func (c command) evictOne() error {
	if c.arg(0) == "hub" {
		item, ok := c.hub.items[c.arg(1)]
		if ok && item.quota && !item.evicted && item.finished == nil && (!item.deleting || item.kept) {
			c.ledger.excuse(item.uid, time.Time{})
			c.put(c.World.evict(item, "Preempted to accommodate another workload"))
		}
		return nil
	}
	pause, err := time.ParseDuration(c.option("for", "0s"))
	if err != nil {
		return err
	}
	return c.onCopy(func(obj *copied) {
		if obj.quota && obj.finished == nil {
			obj.evicted, obj.requeueAt = true, c.now.Add(pause)
		}
	})
}

// onCopy changes the copy of ours on a worker, if there is one.
func (c command) onCopy(change func(*copied)) error {
	w := c.worker(c.arg(0))
	if obj, ok := w.copies[c.arg(1)]; ok && obj.ours {
		change(&obj)
		c.putCopy(w, c.arg(1), obj)
	}
	return nil
}

func link(up bool) func(command) error {
	return func(c command) error {
		w := c.worker(c.arg(0))
		if w.up && !up {
			c.hub.gone[w.name] = false // what was said of it was wrong, and would be believed now
		}
		w.up = up
		return nil
	}
}

// crash hub; restart hub.
func (c command) crashHub() error {
	if c.program != nil {
		c.World.crash()
	}
	return nil
}

// restart hub, or restart hub old=5: its cache begins so many changes ago.
func (c command) restart() error {
	old, err := strconv.Atoi(c.option("old", "0"))
	if c.program == nil && err == nil {
		c.boot(old)
	}
	return err
}

func list(listed bool) func(command) error {
	return func(c command) error {
		name := c.arg(0)
		c.hub.listed = slices.DeleteFunc(slices.Clone(c.hub.listed), func(n string) bool { return n == name })
		if listed {
			c.hub.listed = append(c.hub.listed, name)
		}
		return nil
	}
}

// remove w1 job j1, or remove w1 copy j1: by hand, as kubectl does it. Nobody waits for the pods.
func (c command) remove() error {
	w, name := c.worker(c.arg(0)), c.arg(2)
	if _, ok := w.jobs[name]; ok && c.arg(1) == "job" {
		c.deleteInBackground(w, name)
	}
	if _, ok := w.copies[name]; ok && c.arg(1) == "copy" && !w.down(c.now) {
		c.removeCopy(w, name)
		c.stopAtOnce(w, name)
	}
	return nil
}

// stamp w1 job j1 9223372036854775807, or stamp w1 copy j1 -1: somebody writes another epoch over the stamp of what is ours.
func (c command) stamp() error {
	w, name := c.worker(c.arg(0)), c.arg(2)
	epoch, err := strconv.ParseInt(c.arg(3), 10, 64)
	if err != nil {
		return err
	}
	if job, ok := w.jobs[name]; ok && job.ours && c.arg(1) == "job" {
		job.forged = epoch
		c.putJob(w, name, job)
	}
	if obj, ok := w.copies[name]; ok && obj.ours && c.arg(1) == "copy" {
		obj.forged = epoch
		c.putCopy(w, name, obj)
	}
	return nil
}

// scribble j1: somebody writes over the dispatcher's record what cannot be read.
func (c command) scribble() error {
	return c.update(func(item *workload) {
		if item.record != nil {
			c.ledger.forgotten[item.uid] = true
			item.record = &dispatch.Record{Message: "epoch 9223372036854775807"}
		}
	})
}

// wipe w1: somebody deletes the namespace there, and with it all that is ours.
func (c command) wipe() error {
	w := c.worker(c.arg(0))
	for _, name := range w.names() {
		if w.jobs[name].ours {
			c.deleteInBackground(w, name)
		}
		if w.copies[name].ours {
			c.removeCopy(w, name)
		}
	}
	return nil
}

// stopAtOnce is what the worker's program does about a job that has lost its permission: within no time to speak of, which
// matters as soon as clocks run and nobody has a turn.
func (w *World) stopAtOnce(c *worker, name string) {
	if job, ok := c.jobs[name]; ok && job.ours && job.running {
		w.putJob(c, name, w.stopPods(job))
	}
}

func (c command) outOfSync() error {
	w, name := c.worker(c.arg(0)), c.arg(1)
	job, there := w.jobs[name]
	return c.onCopy(func(obj *copied) {
		if obj.adopted && obj.finished == nil && there && job.finished == nil && !w.down(c.now) {
			defer c.stopAtOnce(w, name)
			obj.finished = &dispatch.Outcome{Reason: dispatch.OutOfSync, Message: "The prebuilt workload is out of sync with its user job"}
		}
	})
}

// foreign w1 j1: somebody else makes objects of that name, if it is free.
func (c command) foreign() error {
	w, name := c.worker(c.arg(0)), c.arg(1)
	_, hasCopy := w.copies[name]
	_, hasJob := w.jobs[name]
	if !hasCopy && !hasJob {
		c.putCopy(w, name, copied{gpu: 1, run: time.Minute, ttl: -1, createdAt: c.now})
		c.putJob(w, name, remoteJob{run: time.Minute, ttl: -1})
	}
	return nil
}

// forget j1: a client that knows only the public types rewrites the Workload's status.
func (c command) forget() error {
	return c.update(func(item *workload) {
		if item.record != nil {
			c.ledger.forgotten[item.uid] = true
			item.record = nil
		}
	})
}

func (c command) reprioritize() error {
	n, err := strconv.ParseInt(c.arg(1), 10, 64)
	if err != nil {
		return err
	}
	return c.update(func(item *workload) { item.priority = n })
}

// resize j1 2: only while it is queued, as the public API has it.
func (c command) resize() error {
	n, err := strconv.ParseInt(c.arg(1), 10, 64)
	if err != nil {
		return err
	}
	return c.update(func(item *workload) {
		if !item.quota {
			item.gpu = n
		}
	})
}

func slow(slow bool) func(command) error {
	return func(c command) error {
		c.worker(c.arg(0)).slow = slow
		return nil
	}
}

// drop w1: the watch ends without a word; what it had not delivered is lost until the next probe.
func (c command) drop() error {
	w := c.worker(c.arg(0))
	w.watch.copies.drop()
	w.watch.jobs.drop()
	return nil
}

// dispatch j1 [fail=2|late=2|held=2|crash=2]
func (c command) dispatchTurn() error {
	if c.program == nil {
		return nil
	}
	var f fault
	if kind, at, found := strings.Cut(c.arg(1), "="); found {
		n, err := strconv.Atoi(at)
		if err != nil {
			return err
		}
		f = fault{kind: kind, at: n}
	}
	c.World.dispatch(c.arg(0), f)
	return nil
}

// core j1, or core j1 plain: of a core that knows no dispatcher.
func (c command) coreTurn() error {
	c.World.core(c.arg(0), c.arg(1) != "plain")
	return nil
}

func (c command) workTurn() error {
	c.work(c.worker(c.arg(0)), c.arg(1))
	return nil
}

// deliver hub, or deliver w1 jobs, or deliver w1 copies
func (c command) deliverTurn() error {
	switch {
	case c.program == nil:
	case c.arg(0) == "hub":
		c.deliverLocal()
	default:
		c.World.deliver(c.worker(c.arg(0)), c.arg(1))
	}
	return nil
}

func (c command) probeTurn() error {
	if c.program != nil {
		c.probe(c.worker(c.arg(0)))
	}
	return nil
}

func (c command) sweepTurn() error {
	if c.program != nil {
		c.sweep(c.worker(c.arg(0)))
	}
	return nil
}

// freeze dispatch, freeze deliver/w1, freeze w1: that actor takes no turn until it thaws.
func freeze(frozen bool) func(command) error {
	return func(c command) error {
		c.frozen[c.arg(0)] = frozen
		return nil
	}
}
