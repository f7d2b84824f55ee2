package cycle_test

import (
	"math/rand"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

func TestCycleMatchesNaiveCycle(t *testing.T) {
	for seed := range int64(150) {
		data := make([]byte, 400)
		rand.New(rand.NewSource(seed)).Read(data)
		if !t.Run("", func(t *testing.T) { compareWithNaiveCycle(t, data) }) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzCycleMatchesNaiveCycle(f *testing.F) {
	data := make([]byte, 300)
	rand.New(rand.NewSource(1)).Read(data)
	f.Add(data)
	f.Fuzz(compareWithNaiveCycle)
}

// compareWithNaiveCycle runs a script on a snapshot kept up to date and on the twin that starts from scratch every time.
func compareWithNaiveCycle(t *testing.T, data []byte) {
	t.Helper()
	script := admissiontest.GenerateScript(data)
	steps, err := admissiontest.Parse(script)
	if err != nil {
		t.Fatalf("%v in\n%s", err, script)
	}
	p := naiveComparison{t: t, script: script, scheduler: cycle.NewScheduler(admission.NewSnapshot()), facts: admissiontest.NewFacts()}
	p.lastReasons = map[string]admission.Reason{}
	for _, step := range steps {
		p.step(step)
	}
}

type naiveComparison struct {
	t         *testing.T
	script    string
	scheduler *cycle.Scheduler
	facts     *admissiontest.Facts
	// lastReasons is the reason that each waiting workload was last told.
	lastReasons map[string]admission.Reason
}

func (p *naiveComparison) step(step admissiontest.Step) {
	if step.Verb != "cycle" {
		was := p.facts.Pending[step.Name]
		step.Apply(p.scheduler)
		p.facts.Apply(step)
		if is, waits := p.facts.Pending[step.Name]; !waits || gocmp.Diff(was, is) != "" {
			delete(p.lastReasons, step.Name)
		}
		return
	}
	// The twin's admissions become the facts that the limits are checked against.
	before := overusedQueues(p.facts)
	plan := p.scheduler.Run(step.Now, step.Options)
	admitted, reasons := admissiontest.NaiveCycle(p.facts, step.Now, step.Options)
	p.expectSame(step.Line, "admissions", admitted, p.recordPlan(plan))
	for name, reason := range reasons {
		if p.lastReasons[name] != reason {
			p.t.Fatalf("%s was told %q, the twin says %q at %q in\n%s", name, p.lastReasons[name], reason, step.Line, p.script)
		}
	}
	for queue := range overusedQueues(p.facts) {
		if !before[queue] {
			p.t.Fatalf("%s uses more than it may after %q in\n%s", queue, step.Line, p.script)
		}
	}
	p.expectSameStatus(step.Line)
}

// recordPlan takes in what the plan tells and returns its admissions as the twin puts them.
func (p *naiveComparison) recordPlan(plan admission.Plan) []admission.Decision {
	var admitted []admission.Decision
	seen := map[admission.Key]bool{}
	for _, d := range plan.Decisions {
		if seen[d.Workload] {
			p.t.Fatalf("%s is decided about twice in\n%s", d.Workload, p.script)
		}
		seen[d.Workload] = true
		if d.Outcome == admission.Wait {
			p.lastReasons[d.Workload.Name] = d.Reason
			continue
		}
		d.Message = ""
		admitted = append(admitted, d)
	}
	return admitted
}

func (p *naiveComparison) expectSame(line, what string, want, got any) {
	p.t.Helper()
	if diff := gocmp.Diff(want, got, withoutTexts); diff != "" {
		p.t.Fatalf("%s differ (-twin +cycle) at %q in\n%s\n%s", what, line, p.script, diff)
	}
}

// expectSameStatus compares the counters kept up to date with those of a snapshot built from the facts.
func (p *naiveComparison) expectSameStatus(line string) {
	fresh, kept := p.facts.Snapshot(), p.scheduler.Snapshot()
	for _, queue := range []string{"a", "b", "c", "d"} {
		want, got := fresh.QueueStatus(queue), kept.QueueStatus(queue)
		want.Active, want.Inadmissible = want.Active+want.Inadmissible, 0
		got.Active, got.Inadmissible = got.Active+got.Inadmissible, 0
		p.expectSame(line, "statuses of "+queue, want, got)
		p.expectSame(line, "waiting lists of "+queue, fresh.ListPending(queue), kept.ListPending(queue))
		lq := admissiontest.Key("lq")
		p.expectSame(line, "local queues", fresh.LocalQueueStatus(lq, queue), kept.LocalQueueStatus(lq, queue))
	}
}

// overusedQueues returns the queues that use, or have an ancestor that uses, more than the limits allow.
func overusedQueues(f *admissiontest.Facts) map[string]bool {
	over := map[string]bool{}
	for queue := range f.Queues {
		for _, flavor := range []string{"f", "g"} {
			account := f.NaiveQuota(quota.FlavorResource{Flavor: flavor, Resource: "gpu"})
			place := admissiontest.QueueNode(queue)
			if account.IsInCycle(place) {
				continue
			}
			if _, found := account.FindOverused(place); found {
				over[queue] = true
			}
		}
	}
	return over
}

func TestDecisionOrderIsIndependentOfSnapshotHistory(t *testing.T) {
	for seed := range int64(100) {
		data := make([]byte, 300)
		rand.New(rand.NewSource(seed)).Read(data)
		steps, err := admissiontest.Parse(admissiontest.GenerateScript(data))
		if err != nil {
			t.Fatal(err)
		}
		facts := admissiontest.NewFacts()
		kept := cycle.NewScheduler(admission.NewSnapshot())
		for _, step := range steps {
			if step.Verb != "cycle" {
				step.Apply(kept)
				facts.Apply(step)
			}
		}
		want := admissiontest.PlanText(cycle.Run(facts.Snapshot(), admissiontest.TimeAt(100), cycle.Options{}))
		got := admissiontest.PlanText(kept.Run(admissiontest.TimeAt(100), cycle.Options{}))
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-from scratch +kept up to date):\n%s\n%s", seed, diff, admissiontest.GenerateScript(data))
		}
	}
}
