package fence

import (
	"strings"
	"testing"
	"time"
)

// yard is a cluster whose jobs wait for controllers, looked at by a fence.
type yard struct {
	promise Guarantee
	uptime  time.Duration
	waits   []Wait
	removed map[string]bool
	acted   time.Duration // after noon
}

func (y *yard) look() string {
	acted := noon.Add(y.acted)
	y.promise = y.promise.Observe(GuaranteeObservation{
		Now: noon.Add(y.uptime), Uptime: y.uptime, Waits: y.waits,
		Exists:               func(id WaitID) bool { return !y.removed[id.Name] },
		LastControllerUpdate: func(string) time.Time { return acted },
	})
	return y.promise.Message()
}

// pass lets time pass and looks at its end.
func (y *yard) pass(d time.Duration) string {
	y.uptime += d
	return y.look()
}

func waits(name string, reaction Reaction) Wait {
	return Wait{WaitID: WaitID{Kind: "Job.batch", Namespace: "team", Name: name, UID: "uid-" + name, For: reaction}, Grace: 40 * time.Second}
}

func TestHowLongJobsMayWaitForTheirControllers(t *testing.T) {
	odd := func(reaction Reaction, grace time.Duration) Wait {
		w := waits("odd", reaction)
		w.Grace = grace
		return w
	}
	const longest = 68 * 365 * 24 * time.Hour
	for _, c := range []struct {
		name  string
		wait  Wait
		stand time.Duration // for so long the promise stands, and no moment longer
		says  string
	}{
		{"suspended, its pods active: whatever their grace is", waits("a", PodsTold), 30 * time.Second, "team/a is suspended and keeps active pods"},
		{"told to end: its pods have their grace", waits("a", PodsEnd), 100 * time.Second, "keeps pods past their termination grace"},
		{"evicted", waits("a", QuotaReleased), 100 * time.Second, "was evicted and does not stop"},
		{"not noticed", waits("a", ControllerObserves), 60 * time.Second, "the controller of Job.batch team/a does not act"},
		{"a grace below zero", odd(PodsEnd, -time.Hour), 60 * time.Second, "past their termination grace"},
		{"a grace beyond all measure", odd(PodsEnd, 1<<63-1), longest, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := &yard{waits: []Wait{c.wait}, acted: -time.Hour}
			y.look()
			if got := y.pass(c.stand); got != "" {
				t.Errorf("in time: %q", got)
			}
			if got := y.pass(time.Second); !strings.Contains(got, c.says) || c.says != "" && got == "" {
				t.Errorf("too late: %q", got)
			}
			first := y.look()
			if later := y.pass(10 * time.Second); later != first && c.says != "" {
				t.Errorf("the words change: %q, %q", first, later)
			}
			y.waits = nil
			if got := y.look(); got != "" {
				t.Errorf("when it waits no more: %q", got)
			}
		})
	}
}

func TestAWaitWhoseBeginningIsKnownCountsFromThere(t *testing.T) {
	w := waits("a", QuotaReleased)
	w.Age = 101 * time.Second
	if y := (&yard{waits: []Wait{w}}); y.look() == "" {
		t.Error("a fence that has just begun believes in a job that has not stopped for long")
	}
}

func TestAWaitBeginsAnewForAnotherJobOfTheName(t *testing.T) {
	y := &yard{waits: []Wait{waits("a", PodsTold)}}
	y.look()
	y.uptime = 20 * time.Second
	y.waits[0].UID = "another"
	y.look()
	if got := y.pass(29 * time.Second); got != "" {
		t.Errorf("%q", got)
	}
}

func TestAJobThatIsNotNoticedSaysNothingWhereItsControllerActsOnOthers(t *testing.T) {
	y := &yard{waits: []Wait{waits("a", ControllerObserves)}}
	y.look()
	for range 20 {
		y.acted = y.uptime
		if got := y.pass(30 * time.Second); got != "" {
			t.Fatalf("%q", got)
		}
	}
	if got := y.pass(31 * time.Second); got == "" {
		t.Error("a controller that has ended passes for one that acts")
	}
	y.acted = y.uptime
	if got := y.look(); got != "" {
		t.Errorf("when it acts again: %q", got)
	}
}

func TestWhatWasRemovedWhileItWasOverdueIsDoubtedUntilTheControllerActs(t *testing.T) {
	y := &yard{waits: []Wait{waits("a", PodsTold), waits("b", PodsTold)}, removed: map[string]bool{}}
	y.look()
	if y.pass(31*time.Second) == "" {
		t.Fatal("nothing is overdue")
	}
	y.waits, y.removed["a"], y.removed["b"] = nil, true, true
	if got := y.pass(time.Second); !strings.Contains(got, "team/a is suspended and keeps active pods: its controller does not act; it was removed at") {
		t.Errorf("with the job the doubt is gone: %q", got)
	}
	y.acted = 32 * time.Second // as it was removed
	if got := y.pass(time.Hour); got == "" || len(y.promise.Removed) != 1 {
		t.Errorf("%q, remembers %v", got, y.promise.Removed)
	}
	y.acted = 33 * time.Second
	if got := y.look(); got != "" {
		t.Errorf("the controller acts again: %q", got)
	}
}

func TestAJobThatWasRemovedInTimeLeavesNoDoubt(t *testing.T) {
	y := &yard{waits: []Wait{waits("a", PodsTold)}, removed: map[string]bool{"a": true}}
	y.look()
	y.waits = nil
	if got := y.pass(time.Hour); got != "" {
		t.Errorf("%q", got)
	}
}

func TestAFenceThatTakesOverDoubtsWhatTheOneBeforeDoubted(t *testing.T) {
	y := &yard{promise: Guarantee{Inherited: "job x does not stop"}, waits: []Wait{waits("a", PodsTold)}}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, "job x"}, {30 * time.Second, "job x"}, {time.Second, "team/a is suspended"}} {
		if got := y.pass(c.after); !strings.Contains(got, c.want) {
			t.Errorf("at %v: %q", y.uptime, got)
		}
	}
	y.waits = nil
	if got := y.pass(50 * time.Second); got != "job x does not stop" {
		t.Errorf("%q", got)
	}
	if got := y.pass(9 * time.Second); got != "" {
		t.Errorf("for ever: %q", got)
	}
}
