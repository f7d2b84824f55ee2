package sim

import (
	"fmt"
	"strings"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
)

// StepFunc is dispatch.Step, or a mutant of it.
type StepFunc func(dispatch.State, dispatch.Observation, dispatch.Policy) dispatch.Plan

// DriverBugs says which mistakes the program around Step makes; none by default.
type DriverBugs struct {
	// ActsBeforeWrite: it carries out the actions of a plan that also writes, before it writes.
	ActsBeforeWrite bool
	// KeepsLiveReads: it holds on to the answer of a live read when newer things become known.
	KeepsLiveReads bool
	// IgnoresConflicts: it writes although the object was written since it was read.
	IgnoresConflicts bool
	// ForgetsUnansweredRenewals: it takes a renewal of the lease that was not answered for one that did not take place.
	ForgetsUnansweredRenewals bool
	// ForgetsLeaseOnRestart: after a restart it takes the lease for as old as it remembers, which is nothing.
	ForgetsLeaseOnRestart bool
	// AdoptsTwice: it makes a job under a copy that another job has taken up.
	AdoptsTwice bool
	// MatchesJobByName: it takes the job that bears the name for the Workload's.
	MatchesJobByName bool
	// DropsUnconfigured: it does nothing about a Workload whose check or config is missing; KeepsOldConfig: it goes on as if
	// it were there; AssumesDefaultPolicy: it takes the policy for the compatible one meanwhile.
	DropsUnconfigured, KeepsOldConfig, AssumesDefaultPolicy bool
	// AllowsBackgroundDeletion: a worker of ours lets a job go that is deleted once more while its pods end.
	AllowsBackgroundDeletion bool
	// TrustsAnyFence: it relies on fences that need longer than it allows.
	TrustsAnyFence bool
	// TrustsItsCache: it removes jobs without a look at the hub's API server.
	TrustsItsCache bool
	// OffersFromStaleCache: it makes offers on what its cache shows from before it began.
	OffersFromStaleCache bool
	// IgnoresOtherClusters: once a cluster is bound it looks at no other that shows nothing.
	IgnoresOtherClusters bool
}

// Parts are the deciding parts that run in the model.
type Parts struct {
	Step  StepFunc
	Fence FenceFunc
	Rank  RankFunc
	// Before is the rule about epochs of workers that know them.
	Before EpochFunc
	// NewTracker makes what the program remembers.
	NewTracker NewTrackerFunc
	// Job is the controller of the hub's jobs.
	Job JobFunc
	// Slice says what a Workload is among the slices of its job.
	Slice      SliceFunc
	DriverBugs DriverBugs
}

// RealParts are the parts as they are.
func RealParts() Parts {
	return Parts{Step: dispatch.Step, Fence: fence.Step, Rank: placement.Rank, Before: isBeforeEpoch, NewTracker: newTracker, Job: job.Step, Slice: hubworkload.ObserveSlice}
}

// scene is what all actors share.
type scene struct {
	now    time.Time
	policy dispatch.Policy
	parts  Parts
	// version counts changes of anything, to tell when nothing happens any more.
	version int
	// frozen are the actors that take no turn in a round: dispatch, core, deliver, or the name of a worker, which then
	// stands still; deliver/<worker> freezes what the hub sees of it.
	frozen map[string]bool
	// out is what is told to the reader; nil in a random run.
	out *strings.Builder
}

// World is a hub, its workers and everything between them. It changes only by commands (commands.go).
//
// It is made of layers. Each has state of its own, and knows those below it: scene, history (what the invariants know), hubCluster,
// workerClusters, program (the dispatcher's, in the hub's process).
type World struct {
	*program
	// decision is the last turn of the dispatcher; the next one takes its place.
	decision decision
	// commandCount counts the commands, of which each may change anything.
	commandCount int
	// heldCalls are calls that the hub has given up and that are still on their way.
	heldCalls []heldCall
	// healed is set once every fault has ended.
	healed bool
	// commands is what the words of a script mean.
	commands map[string]func(command) error
}

// startTime is when every World begins.
func startTime() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// New returns a World with a hub of 100 GPUs and no workers, in which the given parts run.
func New(parts Parts) *World {
	base := &scene{now: startTime(), policy: dispatch.Compatible(15 * time.Minute), parts: parts, frozen: map[string]bool{}}
	hub := &hubCluster{history: newHistory(base), hub: newHub()}
	w := &World{program: &program{workerClusters: &workerClusters{hubCluster: hub}}, commands: sharedCommands()}
	w.startDriver(0)
	return w
}

// Violation returns the first invariant that was broken, "" for none.
func (w *checkLog) Violation() string { return w.violation }

func (w *scene) markChanged() { w.version++ }

// logf tells the reader what happens.
func (w *scene) logf(format string, args ...any) {
	if w.out != nil {
		fmt.Fprintf(w.out, "  %s  %s\n", w.formatClock(), fmt.Sprintf(format, args...))
	}
}

// formatClock is the time since the beginning.
func (w *scene) formatClock() string {
	return time.Time{}.Add(w.now.Sub(startTime())).Format("15:04:05")
}

func (w *workerClusters) isStock(name string) bool {
	c := w.lookupWorker(name)
	return c != nil && c.fence.stock
}

func (w *workerClusters) lookupWorker(name string) *worker {
	for _, c := range w.workers {
		if c.name == name {
			return c
		}
	}
	return nil
}

// runRound lets every actor do all it can, once, in a fixed order, and reports whether anything changed.
func (w *World) runRound() bool {
	before := w.version
	for _, name := range w.hub.workloadNames() {
		w.repeatStep("core", func() bool { return w.stepCore(name, !w.frozen["dispatch"]) })
	}
	if w.healed {
		w.nominateAll()
	}
	for _, c := range w.workers {
		w.runWorkerRound(c)
	}
	if w.driver == nil {
		return w.version != before
	}
	w.repeatStep("deliver", w.deliverLocal)
	for _, name := range w.hub.workloadNames() {
		if !w.frozen["dispatch"] && w.driver != nil {
			w.stepDispatch(name, callFault{})
		}
	}
	for _, c := range w.workers {
		if !w.frozen["dispatch"] {
			w.sweepOrphans(c)
		}
	}
	return w.version != before
}

func (w *World) runWorkerRound(c *worker) {
	if !w.frozen[c.name] {
		for _, name := range c.objectNames() {
			w.repeatStep("", func() bool { return w.stepWorker(c, name) })
		}
	}
	if w.driver == nil {
		return
	}
	w.probeWorker(c)
	w.reportCapacity(c)
	w.assignDrainSlot(c)
	if !w.frozen["deliver/"+c.name] {
		w.repeatStep("deliver", func() bool { return w.deliverRemote(c, "jobs") })
		w.repeatStep("deliver", func() bool { return w.deliverRemote(c, "copies") })
	}
}

// repeatStep repeats a transition of an actor until there is none, at most often enough to catch a loop.
func (w *scene) repeatStep(actor string, do func() bool) {
	for i := 0; i < 1000 && !w.frozen[actor]; i++ {
		if !do() {
			return
		}
	}
}

// runUntilQuiet makes rounds until nothing changes.
func (w *World) runUntilQuiet() {
	for range 200 {
		if !w.runRound() || w.history.violation != "" {
			return
		}
	}
	w.recordViolation(invFixedPoint, "200 rounds did not come to rest")
}

// nextTimer is when something will happen on its own, zero for never.
func (w *program) nextTimer() (at time.Time) {
	for _, c := range w.workers {
		at = earlierTime(earlierTime(at, c.nextTimer(w.now)), w.nextWorkerEvent(c))
	}
	for _, item := range w.hub.workloads {
		if !item.quota && item.finished == nil && !item.inactive && item.requeueAt.After(w.now) {
			at = earlierTime(at, item.requeueAt)
		}
	}
	if w.driver != nil {
		for name, wake := range w.driver.requeueAt {
			if _, exists := w.hub.workloads[name]; exists && wake.After(w.now) {
				at = earlierTime(at, wake)
			}
		}
	}
	return at
}

// advanceClock moves the clock, stopping wherever something happens on its own.
func (w *World) advanceClock(d time.Duration) {
	end := w.now.Add(d)
	for {
		w.runUntilQuiet()
		next := w.nextTimer()
		if next.IsZero() || !next.After(w.now) || next.After(end) {
			break
		}
		w.passTime(next)
	}
	w.passTime(end)
	w.runUntilQuiet()
}

// runUntilSettled lets time pass until nothing will happen any more, at most for the given time.
func (w *World) runUntilSettled(limit time.Duration) {
	end := w.now.Add(limit)
	for w.history.violation == "" {
		w.runUntilQuiet()
		next := w.nextTimer()
		if next.IsZero() || next.After(end) {
			return
		}
		if next.After(w.now) {
			w.passTime(next)
		} else {
			w.passTime(w.now.Add(time.Second))
		}
	}
}
