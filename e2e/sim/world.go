package sim

import (
	"fmt"
	"strings"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
)

// StepFunc is dispatch.Step, or a mutant of it.
type StepFunc func(dispatch.State, dispatch.Observation, dispatch.Policy) dispatch.Plan

// Shell says which mistakes the program around Step makes; none by default.
type Shell struct {
	// ActsFirst: it carries out the actions of a plan that also writes, before it writes.
	ActsFirst bool
	// KeepsAnswers: it holds on to the answer of a live read when newer things become known.
	KeepsAnswers bool
	// Overwrites: it writes although somebody else has written since it read.
	Overwrites bool
	// ForgetsUnanswered: it takes a renewal of the lease that was not answered for one that did not take place.
	ForgetsUnanswered bool
	// TrustsItsMemory: after a restart it takes the lease for as old as it remembers, which is nothing.
	TrustsItsMemory bool
	// AdoptsAgain: it makes a job under a copy that another job has taken up.
	AdoptsAgain bool
	// TakesTheName: it takes the job that bears the name for the Workload's.
	TakesTheName bool
	// ForgetsTheAdrift: it does nothing about a Workload whose check or config is missing; RemembersTheConfig: it goes on as if
	// it were there; GuessesThePolicy: it takes the policy for the compatible one meanwhile.
	ForgetsTheAdrift, RemembersTheConfig, GuessesThePolicy bool
	// LetsOthersHurry: a worker of ours lets a job go that is deleted once more while its pods end.
	LetsOthersHurry bool
	// TakesAnyFence: it relies on fences that need longer than it allows.
	TakesAnyFence bool
	// BelievesItsCache: it removes jobs without a look at the hub's API server.
	BelievesItsCache bool
	// OffersUnasked: it makes offers on what its cache shows from before it began.
	OffersUnasked bool
	// NeverLooksAround: once a cluster is bound it looks at no other that shows nothing.
	NeverLooksAround bool
}

// Parts are the deciding parts that run in the model.
type Parts struct {
	Step  StepFunc
	Fence FenceFunc
	Rank  RankFunc
	// Before is the rule about epochs of workers that know them.
	Before EpochFunc
	// Job is the controller of the hub's jobs.
	Job   JobFunc
	Shell Shell
}

// Real are the parts as they are.
func Real() Parts {
	return Parts{Step: dispatch.Step, Fence: fence.Step, Rank: placement.Rank, Before: realBefore, Job: job.Step}
}

// World is a hub, its workers and everything between them. It changes only by commands (script.go).
type World struct {
	now     time.Time
	policy  dispatch.Policy
	parts   Parts
	hub     *hub
	workers []*worker
	program *program
	ledger  *ledger
	// version counts changes of anything, to tell when nothing happens any more.
	version int
	// turn is the last turn of the dispatcher, and views what it was shown; the next one takes their place.
	turn  turn
	views []dispatch.ClusterView
	// done counts the commands, of which each may change anything.
	done int
	// frozen are the actors that take no turn in a round: dispatch, core, deliver, or the name of a worker, which then
	// stands still; deliver/<worker> freezes what the hub sees of it.
	frozen map[string]bool
	// held are calls that the hub has given up and that are still on their way.
	held []held
	// healed is set once every fault has ended.
	healed bool
	// commands is what the words of a script mean.
	commands map[string]func(command) error
	// out is what is told to the reader; nil in a random run.
	out *strings.Builder
}

// epoch is when every World begins.
func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// New returns a World with a hub of 100 GPUs and no workers, in which the given parts run.
func New(parts Parts) *World {
	w := &World{
		now:    epoch(),
		policy: dispatch.Compatible(15 * time.Minute),
		parts:  parts,
		hub:    newHub(),
		ledger: newLedger(),
		frozen: map[string]bool{}, commands: verbs(),
	}
	w.boot(0)
	return w
}

// Violation returns the first invariant that was broken, "" for none.
func (w *World) Violation() string { return w.ledger.violation }

func (w *World) changed() { w.version++ }

// say tells the reader what happens.
func (w *World) say(format string, args ...any) {
	if w.out != nil {
		fmt.Fprintf(w.out, "  %s  %s\n", w.clock(), fmt.Sprintf(format, args...))
	}
}

// clock is the time since the beginning.
func (w *World) clock() string {
	return time.Time{}.Add(w.now.Sub(epoch())).Format("15:04:05")
}

func (w *World) stock(name string) bool {
	c := w.worker(name)
	return c != nil && c.guard.stock
}

func (w *World) worker(name string) *worker {
	for _, c := range w.workers {
		if c.name == name {
			return c
		}
	}
	return nil
}

// round lets every actor do all it can, once, in a fixed order, and reports whether anything changed.
func (w *World) round() bool {
	before := w.version
	for _, name := range w.hub.names() {
		w.while("core", func() bool { return w.core(name, !w.frozen["dispatch"]) })
	}
	if w.healed {
		w.nominateAll()
	}
	for _, c := range w.workers {
		w.roundWorker(c)
	}
	if w.program == nil {
		return w.version != before
	}
	w.while("deliver", w.deliverLocal)
	for _, name := range w.hub.names() {
		if !w.frozen["dispatch"] && w.program != nil {
			w.dispatch(name, fault{})
		}
	}
	for _, c := range w.workers {
		if !w.frozen["dispatch"] {
			w.sweep(c)
		}
	}
	return w.version != before
}

func (w *World) roundWorker(c *worker) {
	if !w.frozen[c.name] {
		for _, name := range c.names() {
			w.while("", func() bool { return w.work(c, name) })
		}
	}
	if w.program == nil {
		return
	}
	w.probe(c)
	w.report(c)
	w.giveTurn(c)
	if !w.frozen["deliver/"+c.name] {
		w.while("deliver", func() bool { return w.deliver(c, "jobs") })
		w.while("deliver", func() bool { return w.deliver(c, "copies") })
	}
}

// while repeats a transition of an actor until there is none, at most often enough to catch a loop.
func (w *World) while(actor string, do func() bool) {
	for i := 0; i < 1000 && !w.frozen[actor]; i++ {
		if !do() {
			return
		}
	}
}

// untilQuiet makes rounds until nothing changes.
func (w *World) untilQuiet() {
	for range 200 {
		if !w.round() || w.ledger.violation != "" {
			return
		}
	}
	w.violate(lawFixed, "200 rounds did not come to rest")
}

// nextTimer is when something will happen on its own, zero for never.
func (w *World) nextTimer() (at time.Time) {
	for _, c := range w.workers {
		at = soonest(soonest(at, c.nextTimer(w.now)), w.nextByWorker(c))
	}
	for _, item := range w.hub.items {
		if !item.quota && item.finished == nil && !item.inactive && item.requeueAt.After(w.now) {
			at = soonest(at, item.requeueAt)
		}
	}
	if w.program != nil {
		for name, wake := range w.program.wakes {
			if _, exists := w.hub.items[name]; exists && wake.After(w.now) {
				at = soonest(at, wake)
			}
		}
	}
	return at
}

// tick moves the clock, stopping wherever something happens on its own.
func (w *World) tick(d time.Duration) {
	end := w.now.Add(d)
	for {
		w.untilQuiet()
		next := w.nextTimer()
		if next.IsZero() || !next.After(w.now) || next.After(end) {
			break
		}
		w.pass(next)
	}
	w.pass(end)
	w.untilQuiet()
}

// settle lets time pass until nothing will happen any more, at most for the given time.
func (w *World) settle(limit time.Duration) {
	end := w.now.Add(limit)
	for w.ledger.violation == "" {
		w.untilQuiet()
		next := w.nextTimer()
		if next.IsZero() || next.After(end) {
			return
		}
		if next.After(w.now) {
			w.pass(next)
		} else {
			w.pass(w.now.Add(time.Second))
		}
	}
}
