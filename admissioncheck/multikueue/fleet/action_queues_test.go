package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var (
	workload1 = types.NamespacedName{Namespace: "ns", Name: "a"}
	workload2 = types.NamespacedName{Namespace: "ns", Name: "b"}
	noon      = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func writeAction(id string) Action { return Action{ID: id} }

func readAction(id string) Action { return Action{ID: id, ReadOnly: true} }

// expectNext expects the next action to have the given ID, "" for none, and returns its run.
func expectNext(t *testing.T, l *actionQueues, key types.NamespacedName, now time.Time, want string) actionRun {
	t.Helper()
	r, _ := l.nextRun(key, now)
	if got := r.action.ID; got != want {
		t.Fatalf("next action is %q, want %q", got, want)
	}
	return r
}

func TestActionsOfAQueueRunInOrderAndQueuesAreIndependent(t *testing.T) {
	l := newActionQueues()
	l.setActions(workload1, []Action{writeAction("1"), writeAction("2")})
	l.setActions(workload2, []Action{writeAction("other")})
	l.recordResult(workload1, expectNext(t, l, workload1, noon, "1"), nil, nil, noon)
	expectNext(t, l, workload1, noon, "2")
	expectNext(t, l, workload2, noon, "other")
}

func TestAFailureHoldsUpWhatIsBehindItUntilItsBackoffIsOver(t *testing.T) {
	l := newActionQueues()
	l.setActions(workload1, []Action{writeAction("1"), writeAction("2")})
	l.recordResult(workload1, expectNext(t, l, workload1, noon, "1"), nil, errors.New("boom"), noon)
	if _, wait := l.nextRun(workload1, noon); wait != 500*time.Millisecond {
		t.Errorf("waits %v", wait)
	}
	expectNext(t, l, workload1, noon.Add(499*time.Millisecond), "")
	expectNext(t, l, workload1, noon.Add(500*time.Millisecond), "1")
}

func TestNewActionsReplaceThoseLeftAndForgetTheirFailures(t *testing.T) {
	l := newActionQueues()
	l.setActions(workload1, []Action{writeAction("1"), writeAction("2")})
	l.recordResult(workload1, expectNext(t, l, workload1, noon, "1"), nil, errors.New("boom"), noon)
	l.setActions(workload1, []Action{writeAction("3")})
	expectNext(t, l, workload1, noon, "3")
	if got := l.results(workload1); len(got) > 0 {
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
		{"a creation that is seen", Action{ID: "1", CreatesObjects: true}, false, settleTime},
		{"a creation whose object is gone", Action{ID: "1", CreatesObjects: true}, true, eventSettleTime},
		{"a read", Action{ID: "1", ReadOnly: true}, false, eventSettleTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newActionQueues()
			l.setActions(workload1, []Action{c.action})
			l.recordResult(workload1, expectNext(t, l, workload1, noon, "1"), nil, nil, noon)
			l.setActions(workload1, []Action{c.action})
			expectNext(t, l, workload1, noon.Add(settleTime-1), "")
			l.recordEvent(workload1, c.gone, noon)
			expectNext(t, l, workload1, noon.Add(c.settled-1), "")
			expectNext(t, l, workload1, noon.Add(c.settled), "1")
		})
	}
}

func TestWhatASuccessCoversIsNotBegunEither(t *testing.T) {
	l := newActionQueues()
	l.setActions(workload1, []Action{{ID: "both", CoveredIDs: []string{"rest"}}})
	l.recordResult(workload1, expectNext(t, l, workload1, noon, "both"), nil, nil, noon)
	l.setActions(workload1, []Action{writeAction("rest")})
	expectNext(t, l, workload1, noon.Add(settleTime-1), "")
	l.setActions(workload1, []Action{writeAction("other")})
	expectNext(t, l, workload1, noon, "other")
}

func TestReadResultsAreDroppedByAnEventALaterWriteAndTheLossOfTheConnection(t *testing.T) {
	for name, drop := range map[string]func(*actionQueues){
		"event": func(l *actionQueues) { l.recordEvent(workload1, false, noon) },
		"write": func(l *actionQueues) { l.setActions(workload1, []Action{writeAction("w")}); l.nextRun(workload1, noon) },
		"loss":  func(l *actionQueues) { l.reset() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newActionQueues()
			l.setActions(workload1, []Action{readAction("r")})
			if !l.recordResult(workload1, expectNext(t, l, workload1, noon, "r"), "seen", nil, noon) {
				t.Error("evidence is no news")
			}
			l.setActions(workload1, nil)
			if diff := cmp.Diff([]ActionResult{{ID: "r", Value: "seen"}}, l.results(workload1)); diff != "" {
				t.Fatalf("evidence does not outlast its plan (-want +got):\n%s", diff)
			}
			drop(l)
			if got := l.results(workload1); len(got) > 0 {
				t.Errorf("still there: %v", got)
			}
		})
	}
}

func TestAResultReadAcrossAnEventIsDropped(t *testing.T) {
	l := newActionQueues()
	l.setActions(workload1, []Action{readAction("r")})
	r := expectNext(t, l, workload1, noon, "r")
	l.recordEvent(workload1, false, noon)
	if l.recordResult(workload1, r, "old", nil, noon) {
		t.Error("it is news")
	}
	expectNext(t, l, workload1, noon, "r")
}

func TestAReadResultOfARemovedQueueIsDropped(t *testing.T) {
	l := newActionQueues()
	l.setActions(workload1, []Action{readAction("r")})
	r := expectNext(t, l, workload1, noon, "r")
	l.setActions(workload1, nil)
	if len(l.queues) > 0 {
		t.Error("a lane with nothing in it is kept")
	}
	l.recordEvent(workload1, false, noon)
	l.setActions(workload1, []Action{readAction("r")})
	if l.recordResult(workload1, r, "old", nil, noon) {
		t.Error("it is news")
	}
}

func TestTheSameFailureIsNewsOnlyOnce(t *testing.T) {
	l := newActionQueues()
	l.setActions(workload1, []Action{writeAction("1")})
	if !l.recordResult(workload1, expectNext(t, l, workload1, noon, "1"), nil, errors.New("boom"), noon) {
		t.Error("the first failure is no news")
	}
	later := noon.Add(time.Minute)
	if l.recordResult(workload1, expectNext(t, l, workload1, later, "1"), nil, errors.New("boom"), later) {
		t.Error("the second is news")
	}
	if got := l.results(workload1)[0].Failures; got != 2 {
		t.Errorf("%d failures", got)
	}
}

func TestAQueueWaitsUntilAllOfItIsDone(t *testing.T) {
	l := newActionQueues()
	expect := func(when string, now time.Time, want int) {
		t.Helper()
		if got := l.countWaiting(now); got != want {
			t.Errorf("%s: %d lanes wait, want %d", when, got, want)
		}
	}
	l.setActions(workload1, []Action{writeAction("1"), writeAction("2")})
	l.setActions(workload2, []Action{writeAction("other")})
	expect("planned", noon, 2)
	l.recordResult(workload2, expectNext(t, l, workload2, noon, "other"), nil, errors.New("boom"), noon)
	expect("one waits for its retry", noon, 2)
	l.recordResult(workload1, expectNext(t, l, workload1, noon, "1"), nil, nil, noon)
	expect("half of one is done", noon, 2)
	l.recordResult(workload1, expectNext(t, l, workload1, noon, "2"), nil, nil, noon)
	expect("all of it is", noon, 1)
	expect("it would be repeated", noon.Add(settleTime), 2)
	l.forget(workload2)
	expect("the other is gone", noon, 0)
}
