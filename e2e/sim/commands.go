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

// settleLimit is how long a healed World may take to come to rest.
const settleLimit = 48 * time.Hour

// Run carries out a script, one command a line, # for comments, and stops at the first broken invariant.
func (w *World) Run(script string) error {
	for n, line := range strings.Split(script, "\n") {
		if err := w.RunCommand(line); err != nil {
			return fmt.Errorf("line %d: %q: %w", n+1, line, err)
		}
		if w.history.violation != "" {
			return nil
		}
	}
	return nil
}

// RunCommand carries out one command. Commands about things that are not there do nothing, so that a script stays one when lines
// are taken out of it.
func (w *World) RunCommand(line string) error {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(w.resolveSlices(line))
	if len(words) == 0 {
		return nil
	}
	do, ok := w.commands[words[0]]
	if !ok {
		return errors.New("no such command")
	}
	w.commandCount++
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

// sharedCommands are the commands of all Worlds, which none changes.
var sharedCommands = sync.OnceValue(newCommands)

// newCommands is what a verb does. The first group sets the scene, the second lets something happen to it, the third gives
// one actor one turn, the fourth lets all run.
func newCommands() map[string]func(command) error {
	return map[string]func(command) error{
		"clusters": addClusters, "hub-gpu": setHubGPU, "submit": submitJob,
		"dispatcher": setDispatcher, "nominate": nominateClusters,

		"delete": deleteHubJob, "discard": discardWorkload, "remake": remakeJob, "config": setMissing(func(h *hub) *bool { return &h.noConfig }),
		"check": setMissing(func(h *hub) *bool { return &h.noCheck }), "unask": removeCheckEntry, "turn": runDrainSlot,
		"declare": declareGone, "blink": interruptConnection, "sluggish": slowFence, "ask": addCheckEntry, "reorder": reorderClusters,

		"evict": evictWorkload, "partition": setConnection(false), "reconnect": setConnection(true),
		"crash": crashHub, "restart": restartHub, "list": setListed(true), "unlist": setListed(false),
		"stamp": overwriteStamp, "scribble": corruptRecord, "remove": removeObject, "wipe": wipeNamespace, "out-of-sync": setOutOfSync, "foreign": createForeign, "forget": dropRecord,
		"forge": forgeJob, "relabel": relabelJob,
		"reprioritize": setPriority, "resize": setGPU, "scale": scaleJob, "slow": setSlow(true), "fast": setSlow(false), "drop": dropWatches,

		"policy": setPolicy, "stock": useStockWorker, "skew": setSkew, "down": stopWorkerProgram, "gone": destroyCluster, "back": restoreCluster,
		"deny": setRenewalDenied(true), "grant": setRenewalDenied(false),
		"cordon": setAnnotation(cordonedClusters, true), "uncordon": setAnnotation(cordonedClusters, false), "drain": setAnnotation(drainingClusters, true), "undrain": setAnnotation(drainingClusters, false),

		"squat": addPreemptible, "weight": setWeight, "checks": setOtherChecks, "orchestrate": enableOrchestration, "retain": setRetention, "date": dateFinish, "by-name": setByName,
		"taint": changeTrait(func(w *worker) { w.tainted = true }), "bare": changeTrait(func(w *worker) { w.noLocalQueue = true }),
		"hold": changeTrait(func(w *worker) { w.onHold = true }), "release": changeTrait(func(w *worker) { w.onHold = false }),
		"land": withoutArgs((*World).landHeldCalls),

		"fence": runFence, "renew": runRenew, "report": runReport,
		"dispatch": runDispatch, "core": runCore, "work": runWork, "deliver": runDeliver,
		"probe": runProbe, "sweep": runSweep,
		"clock": withDuration(func(w *World, d time.Duration) { w.passTime(w.now.Add(d)) }),

		"round": withoutArgs(func(w *World) { w.runRound() }), "until-quiet": withoutArgs((*World).runUntilQuiet), "tick": withDuration((*World).advanceClock),
		"settle": withoutArgs(func(w *World) { w.runUntilSettled(settleLimit) }), "freeze": setFrozen(true), "thaw": setFrozen(false),
		"heal": withoutArgs((*World).healFaults), "final": withoutArgs((*World).checkFinal), "show": withoutArgs((*World).printState),
	}
}

func withoutArgs(do func(*World)) func(command) error {
	return func(c command) error { do(c.World); return nil }
}

func withDuration(do func(*World, time.Duration)) func(command) error {
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

// addClusters w1 w2=4: workers with their GPUs (8 if not said), all listed in this order.
func addClusters(c command) error {
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
			name: name, gpu: n, up: true, fence: workerFence{started: c.now}, snapshot: newSnapshot(), workloads: map[string]remoteWorkload{}, jobs: map[string]remoteJob{},
			weight: placement.DefaultWeight, goneEpochs: map[int64]int64{},
		})
		c.workers[len(c.workers)-1].configureQueue()
		c.hub.listed = append(c.hub.listed, name)
	}
	c.startDriver(0)
	return nil
}

// hub-gpu 8: the hub's quota.
func setHubGPU(c command) (err error) {
	c.hub.gpu, err = strconv.ParseInt(c.arg(0), 10, 64)
	return err
}

// setDispatcher incremental [step=1], dispatcher best-fit [hedge=10s], or dispatcher external: instead of offering to all at once.
func setDispatcher(c command) error {
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

// nominateClusters j1 w1 w2: by another dispatcher.
func nominateClusters(c command) error {
	c.World.nominate(c.arg(0), c.args[1:])
	return nil
}

// submitJob j1 gpu=4 run=30s ttl=10s kill=30s with=j2 taint=tolerates checks=wait jobs=theirs status=stale, or submit j1 elastic gpu=2 run=1h
func submitJob(c command) error {
	if _, exists := c.hub.workloads[c.arg(0)]; exists || len(c.hub.slicesOf(c.arg(0))) > 0 {
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
	c.hub.lastVersion++
	item := workload{
		name: c.arg(0), jobUID: c.hub.lastVersion, jobRV: c.hub.lastVersion, gpu: gpu, duration: run, ttl: ttl, killGrace: kill, sibling: c.option("with", ""),
		tolerates: c.option("taint", "") == "tolerates", otherChecksPending: c.option("checks", "") == "wait", foreignController: c.option("jobs", "") == "theirs",
		staleStatus: c.option("status", "") == "stale",
	}
	if slices.Contains(c.args, "elastic") {
		item.asked = gpu
		c.submitNextSlice(item, "")
		return nil
	}
	c.World.submitWorkload(item)
	return nil
}

// updateWorkload changes a Workload that is there.
func (c command) updateWorkload(change func(*workload)) error {
	if item, ok := c.hub.workloads[c.arg(0)]; ok {
		change(&item)
		c.putWorkload(item)
	}
	return nil
}

// updateWorkloads is updateWorkload for all slices of the job, if it is an elastic one.
func (c command) updateWorkloads(change func(*workload)) error {
	all := c.hub.slicesOf(jobOf(c.arg(0)))
	if item, ok := c.hub.workloads[c.arg(0)]; ok && !item.elastic {
		all = []workload{item}
	}
	for _, item := range all {
		change(&item)
		c.putWorkload(item)
	}
	return nil
}

// deleteHubJob j1: the job, and its Workload with it.
func deleteHubJob(c command) error {
	return c.updateWorkloads(func(item *workload) { item.deleting, item.retained, item.jobUID = true, false, 0 })
}

// evict hub j1, or evict w1 j1 [for=1m]: how long the worker does not admit it again.
func evictWorkload(c command) error {
	if c.arg(0) == "hub" {
		item, ok := c.hub.workloads[c.arg(1)]
		if ok && item.quota && !item.evicted && item.finished == nil && (!item.deleting || item.retained) {
			c.history.excuseResults(item.uid, time.Time{})
			c.noteEvictedWithNext(item)
			c.putWorkload(c.World.markEvicted(item, "Preempted to accommodate another workload"))
		}
		return nil
	}
	pause, err := time.ParseDuration(c.option("for", "0s"))
	if err != nil {
		return err
	}
	return c.updateRemoteWorkload(func(obj *remoteWorkload) {
		if obj.quota && obj.finished == nil {
			obj.evicted, obj.requeueAt = true, c.now.Add(pause)
		}
	})
}

// updateRemoteWorkload changes the copy of ours on a worker, if there is one.
func (c command) updateRemoteWorkload(change func(*remoteWorkload)) error {
	w := c.lookupWorker(c.arg(0))
	if obj, ok := w.workloads[c.arg(1)]; ok && obj.ours {
		w.disturb(c.arg(1))
		change(&obj)
		c.putRemoteWorkload(w, c.arg(1), obj)
	}
	return nil
}

func setConnection(up bool) func(command) error {
	return func(c command) error {
		w := c.lookupWorker(c.arg(0))
		if w.up && !up {
			c.hub.declaredGone[w.name] = false // what was said of it was wrong, and would be believed now
		}
		w.up = up
		return nil
	}
}

// crash hub; restart hub.
func crashHub(c command) error {
	if c.driver != nil {
		c.World.crashDriver()
	}
	return nil
}

// restartHub hub, or restart hub old=5: its cache begins so many changes ago.
func restartHub(c command) error {
	old, err := strconv.Atoi(c.option("old", "0"))
	if c.driver == nil && err == nil {
		c.startDriver(old)
	}
	return err
}

func setListed(listed bool) func(command) error {
	return func(c command) error {
		name := c.arg(0)
		c.hub.listed = slices.DeleteFunc(slices.Clone(c.hub.listed), func(n string) bool { return n == name })
		if listed {
			c.hub.listed = append(c.hub.listed, name)
		}
		return nil
	}
}

// removeObject w1 job j1, or remove w1 copy j1: by hand, as kubectl does it. It does not wait for the pods.
func removeObject(c command) error {
	w, name := c.lookupWorker(c.arg(0)), c.arg(2)
	if _, ok := w.jobs[jobOf(name)]; ok && c.arg(1) == "job" {
		c.deleteInBackground(w, jobOf(name))
	}
	if _, ok := w.workloads[name]; ok && c.arg(1) == "copy" && !w.isDown(c.now) {
		w.disturb(name)
		c.removeRemoteWorkload(w, name)
		c.stopPodsAtOnce(w, name)
	}
	return nil
}

// overwriteStamp w1 job j1 9223372036854775807, or stamp w1 copy j1 -1: a user writes another epoch over the stamp of what is
// ours.
func overwriteStamp(c command) error {
	w, name := c.lookupWorker(c.arg(0)), c.arg(2)
	epoch, err := strconv.ParseInt(c.arg(3), 10, 64)
	if err != nil {
		return err
	}
	w.disturb(name)
	if job, ok := w.jobs[jobOf(name)]; ok && job.ours && c.arg(1) == "job" {
		job.forgedEpoch = epoch
		c.putJob(w, jobOf(name), job)
	}
	if obj, ok := w.workloads[name]; ok && obj.ours && c.arg(1) == "copy" {
		obj.forgedEpoch = epoch
		c.putRemoteWorkload(w, name, obj)
	}
	return nil
}

// corruptRecord j1: a user writes over the dispatcher's record what cannot be read.
func corruptRecord(c command) error {
	return c.updateWorkload(func(item *workload) {
		if item.record != nil {
			c.history.recordsLost[c.history.root(item.uid)] = true
			item.record = &dispatch.Record{Message: "epoch 9223372036854775807"}
		}
	})
}

// wipeNamespace w1: a user deletes the namespace there, and with it all that is ours.
func wipeNamespace(c command) error {
	w := c.lookupWorker(c.arg(0))
	for _, name := range w.objectNames() {
		w.disturb(name)
		if w.jobs[name].ours {
			c.deleteInBackground(w, name)
		}
		if w.workloads[name].ours {
			c.removeRemoteWorkload(w, name)
		}
	}
	return nil
}

// stopPodsAtOnce is what the worker's program does about a job that has lost its permission: within no time to speak of,
// which matters as soon as clocks run and no program takes a step.
func (w *workerClusters) stopPodsAtOnce(c *worker, name string) {
	job, ok := c.jobs[jobOf(name)]
	if ok && job.ours && job.running && (!job.elastic || !c.permitSlice(jobOf(name), job).goOn) {
		w.putJob(c, jobOf(name), w.stopPods(job))
	}
}

// setOutOfSync w1 j1: the worker's program finds that a copy does not ask for what its job asks for. It looks only at the slice by which an elastic
// job runs, and not before it has ended the others (job.Step).
func setOutOfSync(c command) error {
	w, name := c.lookupWorker(c.arg(0)), c.arg(1)
	job, there := w.jobs[jobOf(name)]
	if there && job.elastic {
		runs, endings := w.chooseSlice(jobOf(name), job)
		there = runs == name && len(endings) == 0
	}
	over := false
	err := c.updateRemoteWorkload(func(obj *remoteWorkload) {
		if obj.adopted && obj.finished == nil && there && job.finished == nil && !w.isDown(c.now) {
			over = true
			obj.finished = &dispatch.Outcome{Reason: dispatch.OutOfSync, Message: "The prebuilt workload is out of sync with its user job"}
		}
	})
	if over {
		c.stopPodsAtOnce(w, name)
	}
	return err
}

// createForeign w1 j1: another program makes objects of that name, if it is free.
func createForeign(c command) error {
	w, name := c.lookupWorker(c.arg(0)), c.arg(1)
	_, hasCopy := w.workloads[name]
	_, hasJob := w.jobs[jobOf(name)]
	if !hasCopy && !hasJob {
		c.putRemoteWorkload(w, name, remoteWorkload{gpu: 1, duration: time.Minute, ttl: -1, createdAt: c.now})
		c.putJob(w, jobOf(name), remoteJob{duration: time.Minute, ttl: -1})
	}
	return nil
}

// dropRecord j1: a client that knows only the public types rewrites the Workload's status.
func dropRecord(c command) error {
	return c.updateWorkload(func(item *workload) {
		if item.record != nil {
			c.history.recordsLost[c.history.root(item.uid)] = true
			item.record = nil
		}
	})
}

func setPriority(c command) error {
	n, err := strconv.ParseInt(c.arg(1), 10, 64)
	if err != nil {
		return err
	}
	return c.updateWorkloads(func(item *workload) { item.priority = n })
}

// setGPU j1 2: only while it is queued, as the public API has it.
func setGPU(c command) error {
	n, err := strconv.ParseInt(c.arg(1), 10, 64)
	if err != nil {
		return err
	}
	return c.updateWorkload(func(item *workload) {
		if !item.quota && !item.elastic {
			item.gpu = n
		}
	})
}

func setSlow(slow bool) func(command) error {
	return func(c command) error {
		c.lookupWorker(c.arg(0)).slow = slow
		return nil
	}
}

// dropWatches w1: the watch ends without a word; what it had not delivered is lost until the next probe.
func dropWatches(c command) error {
	w := c.lookupWorker(c.arg(0))
	w.informers.workloads.stop()
	w.informers.jobs.stop()
	return nil
}

// dispatch j1 [fail=2|late=2|held=2|crash=2]
func runDispatch(c command) error {
	if c.driver == nil {
		return nil
	}
	var f callFault
	if kind, at, found := strings.Cut(c.arg(1), "="); found {
		n, err := strconv.Atoi(at)
		if err != nil {
			return err
		}
		f = callFault{kind: kind, at: n}
	}
	c.World.stepDispatch(c.arg(0), f)
	return nil
}

// core j1, or core j1 plain: of a core that knows no dispatcher.
func runCore(c command) error {
	c.World.stepCore(c.arg(0), c.arg(1) != "plain")
	return nil
}

func runWork(c command) error {
	c.stepWorker(c.lookupWorker(c.arg(0)), c.arg(1))
	return nil
}

// deliver hub, or deliver w1 jobs, or deliver w1 copies
func runDeliver(c command) error {
	switch {
	case c.driver == nil:
	case c.arg(0) == "hub":
		c.deliverLocal()
	default:
		c.World.deliverRemote(c.lookupWorker(c.arg(0)), c.arg(1))
	}
	return nil
}

func runProbe(c command) error {
	if c.driver != nil {
		c.probeWorker(c.lookupWorker(c.arg(0)))
	}
	return nil
}

func runSweep(c command) error {
	if c.driver != nil {
		c.sweepOrphans(c.lookupWorker(c.arg(0)))
	}
	return nil
}

// setFrozen dispatch, freeze deliver/w1, freeze w1: that actor takes no turn until it thaws.
func setFrozen(frozen bool) func(command) error {
	return func(c command) error {
		c.frozen[c.arg(0)] = frozen
		return nil
	}
}
