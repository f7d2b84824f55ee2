package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var (
	lane1 = types.NamespacedName{Namespace: "ns", Name: "a"}
	lane2 = types.NamespacedName{Namespace: "ns", Name: "b"}
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func write(id string) Action { return Action{ID: id} }

func read(id string) Action { return Action{ID: id, Reads: true} }

// takes expects the next action to have the given ID, "" for none, and returns its run.
func takes(t *testing.T, l *lanes, key types.NamespacedName, now time.Time, want string) run {
	t.Helper()
	r, _ := l.next(key, now)
	if got := r.action.ID; got != want {
		t.Fatalf("next action is %q, want %q", got, want)
	}
	return r
}

func TestActionsOfALaneRunInOrderAndLanesAreIndependent(t *testing.T) {
	l := newLanes()
	l.plan(lane1, []Action{write("1"), write("2")})
	l.plan(lane2, []Action{write("other")})
	l.done(lane1, takes(t, l, lane1, noon, "1"), nil, nil, noon)
	takes(t, l, lane1, noon, "2")
	takes(t, l, lane2, noon, "other")
}

func TestAFailureHoldsUpWhatIsBehindItUntilItsBackoffIsOver(t *testing.T) {
	l := newLanes()
	l.plan(lane1, []Action{write("1"), write("2")})
	l.done(lane1, takes(t, l, lane1, noon, "1"), nil, errors.New("boom"), noon)
	if _, wait := l.next(lane1, noon); wait != 500*time.Millisecond {
		t.Errorf("waits %v", wait)
	}
	takes(t, l, lane1, noon.Add(499*time.Millisecond), "")
	takes(t, l, lane1, noon.Add(500*time.Millisecond), "1")
}

func TestANewPlanReplacesWhatIsLeftAndForgetsItsFailures(t *testing.T) {
	l := newLanes()
	l.plan(lane1, []Action{write("1"), write("2")})
	l.done(lane1, takes(t, l, lane1, noon, "1"), nil, errors.New("boom"), noon)
	l.plan(lane1, []Action{write("3")})
	takes(t, l, lane1, noon, "3")
	if got := l.of(lane1); len(got) > 0 {
		t.Errorf("answers: %v", got)
	}
}

func TestASuccessIsNotRepeatedBeforeTheCachesCanHaveSeenIt(t *testing.T) {
	for _, c := range []struct {
		name    string
		action  Action
		gone    bool // what the event shows
		settled time.Duration
	}{
		{"a removal of two objects, of which one is seen to go", Action{ID: "1"}, true, settleTime},
		{"a removal that is seen to begin", Action{ID: "1"}, false, settleTime},
		{"a creation that is seen", Action{ID: "1", Creates: true}, false, settleTime},
		{"a creation whose object is gone", Action{ID: "1", Creates: true}, true, lagTime},
		{"a read", Action{ID: "1", Reads: true}, false, lagTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLanes()
			l.plan(lane1, []Action{c.action})
			l.done(lane1, takes(t, l, lane1, noon, "1"), nil, nil, noon)
			l.plan(lane1, []Action{c.action})
			takes(t, l, lane1, noon.Add(settleTime-1), "")
			l.changed(lane1, c.gone, noon)
			takes(t, l, lane1, noon.Add(c.settled-1), "")
			takes(t, l, lane1, noon.Add(c.settled), "1")
		})
	}
}

func TestWhatASuccessCoversIsNotBegunEither(t *testing.T) {
	l := newLanes()
	l.plan(lane1, []Action{{ID: "both", Covers: []string{"rest"}}})
	l.done(lane1, takes(t, l, lane1, noon, "both"), nil, nil, noon)
	l.plan(lane1, []Action{write("rest")})
	takes(t, l, lane1, noon.Add(settleTime-1), "")
	l.plan(lane1, []Action{write("other")})
	takes(t, l, lane1, noon, "other")
}

func TestEvidenceIsDroppedByAnEventByALaterWriteAndByTheLossOfTheConnection(t *testing.T) {
	for name, drop := range map[string]func(*lanes){
		"event": func(l *lanes) { l.changed(lane1, false, noon) },
		"write": func(l *lanes) { l.plan(lane1, []Action{write("w")}); l.next(lane1, noon) },
		"loss":  func(l *lanes) { l.reset() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLanes()
			l.plan(lane1, []Action{read("r")})
			if !l.done(lane1, takes(t, l, lane1, noon, "r"), "seen", nil, noon) {
				t.Error("evidence is no news")
			}
			l.plan(lane1, nil)
			if diff := cmp.Diff([]Answer{{ID: "r", Value: "seen"}}, l.of(lane1)); diff != "" {
				t.Fatalf("evidence does not outlast its plan (-want +got):\n%s", diff)
			}
			drop(l)
			if got := l.of(lane1); len(got) > 0 {
				t.Errorf("still there: %v", got)
			}
		})
	}
}

func TestEvidenceReadAcrossAnEventIsWorthless(t *testing.T) {
	l := newLanes()
	l.plan(lane1, []Action{read("r")})
	r := takes(t, l, lane1, noon, "r")
	l.changed(lane1, false, noon)
	if l.done(lane1, r, "old", nil, noon) {
		t.Error("it is news")
	}
	takes(t, l, lane1, noon, "r")
}

func TestEvidenceOfALaneThatWasGivenUpMeanwhileIsWorthless(t *testing.T) {
	l := newLanes()
	l.plan(lane1, []Action{read("r")})
	r := takes(t, l, lane1, noon, "r")
	l.plan(lane1, nil)
	if len(l.lanes) > 0 {
		t.Error("a lane with nothing in it is kept")
	}
	l.changed(lane1, false, noon)
	l.plan(lane1, []Action{read("r")})
	if l.done(lane1, r, "old", nil, noon) {
		t.Error("it is news")
	}
}

func TestTheSameFailureIsNewsOnlyOnce(t *testing.T) {
	l := newLanes()
	l.plan(lane1, []Action{write("1")})
	if !l.done(lane1, takes(t, l, lane1, noon, "1"), nil, errors.New("boom"), noon) {
		t.Error("the first failure is no news")
	}
	later := noon.Add(time.Minute)
	if l.done(lane1, takes(t, l, lane1, later, "1"), nil, errors.New("boom"), later) {
		t.Error("the second is news")
	}
	if got := l.of(lane1)[0].Failures; got != 2 {
		t.Errorf("%d failures", got)
	}
}

func TestALaneWaitsUntilAllOfItIsDone(t *testing.T) {
	l := newLanes()
	expect := func(when string, now time.Time, want int) {
		t.Helper()
		if got := l.waiting(now); got != want {
			t.Errorf("%s: %d lanes wait, want %d", when, got, want)
		}
	}
	l.plan(lane1, []Action{write("1"), write("2")})
	l.plan(lane2, []Action{write("other")})
	expect("planned", noon, 2)
	l.done(lane2, takes(t, l, lane2, noon, "other"), nil, errors.New("boom"), noon)
	expect("one waits for its retry", noon, 2)
	l.done(lane1, takes(t, l, lane1, noon, "1"), nil, nil, noon)
	expect("half of one is done", noon, 2)
	l.done(lane1, takes(t, l, lane1, noon, "2"), nil, nil, noon)
	expect("all of it is", noon, 1)
	expect("it would be repeated", noon.Add(settleTime), 2)
	l.forget(lane2)
	expect("the other is gone", noon, 0)
}
