package cycle_test

import (
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

// apiSimulator plays the API to a snapshot: it writes what cycles decide, late or never, and lets victims leave in their time.
type apiSimulator struct {
	t         *testing.T
	rng       *rand.Rand
	options   cycle.Options
	scheduler *cycle.Scheduler
	facts     *admissiontest.Facts
	log       []string
	// lastReasons is the reason that each waiting workload was told since it changed last.
	lastReasons map[string]admission.Reason
	// evicting are the victims whose eviction was decided and not called off.
	evicting map[string]bool
	// unconfirmed are the admissions that the API does not know of yet.
	unconfirmed map[string]bool
}

func FuzzCycleInvariants(f *testing.F) {
	for seed := range int64(200) {
		f.Add(seed)
	}
	f.Add(int64(1006)) // a head that loses its place, with its class inadmissible behind it
	f.Add(int64(214))  // one that exceeds all quota but for fewer pods, with a victim whose admission is being written
	f.Add(int64(760))  // the same, keeping its part in a strict queue
	f.Fuzz(func(t *testing.T, seed int64) {
		chance := rand.New(rand.NewSource(seed))
		data := make([]byte, 500)
		chance.Read(data)
		steps, err := admissiontest.Parse(admissiontest.GenerateRichScript(data))
		if err != nil {
			t.Fatal(err)
		}
		w := &apiSimulator{
			t: t, rng: chance, options: steps[len(steps)-1].Options,
			scheduler: cycle.NewScheduler(admission.NewSnapshot()), facts: admissiontest.NewFacts(),
			lastReasons: map[string]admission.Reason{}, evicting: map[string]bool{}, unconfirmed: map[string]bool{},
		}
		for _, step := range steps[:len(steps)-1] {
			w.apply(step)
			if chance.Intn(3) == 0 {
				w.runCycle()
				w.progressPending(3)
			}
		}
		w.runUntilQuiet()
	})
}

func (w *apiSimulator) applyLine(text string) {
	steps, err := admissiontest.Parse(text)
	if err != nil {
		w.t.Fatal(err)
	}
	w.apply(steps[0])
}

func (w *apiSimulator) apply(step admissiontest.Step) {
	w.log = append(w.log, step.Line)
	was, held := w.facts.Reservations[step.Name]
	waited, waits := w.facts.Pending[step.Name]
	step.Apply(w.scheduler)
	w.facts.Apply(step)
	if step.Verb == "admitted" && held && was.UID == step.Reservation.UID && !step.Reservation.Evicted {
		// It is the same workload, reported before its eviction was seen: it leaves all the same.
		delete(w.unconfirmed, step.Name)
		return
	}
	if waits && step.Verb == "pending" && gocmp.Equal(waited, step.Workload) {
		return // It keeps its place, and nobody tells it anything new.
	}
	switch step.Verb {
	case "pending", "remove", "forget":
		delete(w.lastReasons, step.Name)
		delete(w.evicting, step.Name)
		delete(w.unconfirmed, step.Name)
	case "admitted", "release":
		delete(w.evicting, step.Name)
		delete(w.unconfirmed, step.Name)
	}
}

func (w *apiSimulator) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format+"\nafter\n%s", append(args, strings.Join(w.log, "\n"))...)
}

// runCycle runs a cycle and checks all that must hold of it.
func (w *apiSimulator) runCycle() admission.Plan {
	before := overusedQueues(w.facts)
	plan := w.scheduler.Run(admissiontest.TimeAt(100), w.options)
	w.log = append(w.log, "cycle", admissiontest.PlanText(plan))
	seen := map[string]bool{}
	for _, d := range plan.Decisions {
		if seen[d.Workload.Name] {
			w.fail("%s is decided about twice", d.Workload)
		}
		seen[d.Workload.Name] = true
		if _, waits := w.facts.Pending[d.Workload.Name]; !waits {
			w.fail("%s does not wait", d.Workload)
		}
		w.applyDecision(d)
	}
	for queue := range overusedQueues(w.facts) {
		if !before[queue] {
			w.fail("%s uses more than it may", queue)
		}
	}
	w.checkUsage()
	w.checkReasons()
	return plan
}

func (w *apiSimulator) applyDecision(d admission.Decision) {
	switch d.Outcome {
	case admission.Admit:
		w.facts.Assume(d.Workload.Name, d.Assignment)
		w.unconfirmed[d.Workload.Name] = true
	case admission.Preempt:
		w.lastReasons[d.Workload.Name] = d.Reason
		for _, v := range d.Victims {
			w.evict(v)
		}
	case admission.Wait:
		w.lastReasons[d.Workload.Name] = d.Reason
	}
}

func (w *apiSimulator) evict(v admission.Victim) {
	name := v.Workload.Name
	held, holds := w.facts.Reservations[name]
	switch {
	case !holds || held.Queue != v.Queue || held.UID != v.UID:
		w.fail("%s holds nothing that it could be evicted for", name)
	case w.unconfirmed[name]:
		w.fail("%s is evicted before its admission is written", name)
	case v.Evicted != (held.Evicted || w.evicting[name]):
		w.fail("%s is leaving: %v; the plan says %v", name, !v.Evicted, v.Evicted)
	}
	w.evicting[name] = true
}

func (w *apiSimulator) checkUsage() {
	sums := map[string][]quota.Use{}
	for _, held := range w.facts.Reservations {
		for _, use := range held.Usage {
			if use.Amount > 0 {
				sums[held.Queue] = append(sums[held.Queue], use)
			}
		}
	}
	for _, queue := range []string{"a", "b", "c", "d"} {
		want, got := quota.NewUsage(sums[queue]...), w.scheduler.Snapshot().Quota().QueueUsage(queue)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			w.fail("%s does not use what its workloads hold (-held +used):\n%s", queue, diff)
		}
	}
}

// checkReasons finds workloads that did not get the reason why they wait, although nothing holds up their queue.
func (w *apiSimulator) checkReasons() {
	if w.options.MaxAdmissions > 0 {
		return
	}
	for name, workload := range w.facts.Pending {
		q := w.facts.Queues[workload.Queue]
		if w.lastReasons[name] == "" && q.Strategy != admission.StrictFIFO && !q.UsageBased && !w.hasPendingPreemption(workload.Queue) {
			w.fail("%s was not told why it waits", name)
		}
	}
}

// hasPendingPreemption reports whether a workload of the queue was told to wait for others to leave.
func (w *apiSimulator) hasPendingPreemption(queue string) bool {
	for name, workload := range w.facts.Pending {
		if workload.Queue == queue && w.lastReasons[name] == admission.WaitingForPreemptedWorkloads {
			return true
		}
	}
	return false
}

// progressPending lets one in odds of what is under way happen.
func (w *apiSimulator) progressPending(odds int) {
	happens := func() bool { return w.rng.Intn(odds) == 0 }
	for _, name := range slices.Sorted(maps.Keys(w.unconfirmed)) {
		switch {
		case !happens():
		case odds > 1 && happens():
			w.applyLine("forget " + name)
		default:
			held := w.facts.Reservations[name]
			held.Assumed, held.Admitted = false, true
			delete(w.unconfirmed, name)
			w.apply(admissiontest.Step{Line: "confirm " + name, Verb: "admitted", Name: name, Reservation: held})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.evicting)) {
		switch {
		case !happens():
		case odds > 1 && happens() && !w.facts.Reservations[name].Evicted:
			delete(w.evicting, name)
			w.applyLine("spare " + name)
		default:
			w.applyLine("release " + name)
		}
	}
}

// runUntilQuiet lets everything happen that is under way until nothing is, and checks that no workload waits that could
// start.
func (w *apiSimulator) runUntilQuiet() {
	for name, held := range w.facts.Reservations {
		if held.Evicted {
			w.evicting[name] = true
		}
	}
	for range 100 {
		plan := w.runCycle()
		if len(w.unconfirmed)+len(w.evicting) == 0 && !plan.HasMore && len(plan.Decisions) == 0 {
			w.checkNobodyCouldStart()
			return
		}
		w.progressPending(1)
	}
	w.fail("the world does not come to rest")
}

func (w *apiSimulator) checkNobodyCouldStart() {
	plan := cycle.Run(w.facts.Snapshot(), admissiontest.TimeAt(100), w.options)
	for _, d := range plan.Decisions {
		switch d.Outcome {
		case admission.Admit:
			w.fail("somebody could start: %s", admissiontest.DecisionText(d))
		case admission.Preempt:
			if onlyInClusterQueue(d.Victims) {
				w.fail("somebody could make room for itself: %s", admissiontest.DecisionText(d))
			}
		case admission.Wait:
		}
	}
}

// onlyInClusterQueue reports whether no workload outside the queue has to go. Those outside may be evicted as long as their
// queue borrows, and so also because another one was admitted there, which is no requeue trigger (contract: kueue-api.md
// 4.10).
func onlyInClusterQueue(victims []admission.Victim) bool {
	return !slices.ContainsFunc(victims, func(v admission.Victim) bool { return v.Reason != admission.InClusterQueue })
}
