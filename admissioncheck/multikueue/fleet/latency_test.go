package fleet

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAnAnswerIsOverdueThatTakesMuchLongerThanUsual(t *testing.T) {
	var p latencyTracker
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { now = now.Add(d); return now }
	is := func(want bool, when string) {
		t.Helper()
		if got := p.isOverdue(now); got != want {
			t.Errorf("overdue %s: %v", when, got)
		}
	}
	is(false, "with nothing asked")
	limit, answered := p.startCall(now)
	if limit != minLatencyLimit {
		t.Errorf("the first answer may take %v", limit)
	}
	after(limit - 1)
	is(false, "before the time is over")
	after(1)
	is(true, "when it is over")
	_, quickly := p.startCall(now)
	quickly(after(time.Millisecond))
	is(true, "though another call was answered")
	answered(after(9 * time.Second))
	is(true, "after a late answer")
	_, quickly = p.startCall(now)
	quickly(after(time.Millisecond))
	is(false, "after one in time")
}

func TestWhoTakesLongAsARuleIsGivenMoreTime(t *testing.T) {
	var p latencyTracker
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for range 50 {
		_, answered := p.startCall(now)
		now = now.Add(500 * time.Millisecond)
		answered(now)
		if p.isOverdue(now) {
			t.Fatal("an answer after half a second is late")
		}
	}
	if limit, _ := p.startCall(now); limit < 3*time.Second || limit > 5*time.Second {
		t.Errorf("who answers after half a second is given %v", limit)
	}
}

func TestAWorkloadIsRequeuedWhenTheAnswerToItsCallIsOverdue(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	w := newTestEnv(t, func(o *Options) { o.Clock, o.ProbeInterval = clock, time.Hour }, "w1")
	w.connect("w1")
	w.waitConnected("w1")
	queue := priorityqueue.New[reconcile.Request](t.Name())
	defer queue.ShutDown()
	if err := w.fleet.WorkloadRequests().start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	called, answer := make(chan struct{}), make(chan struct{})
	w.fleet.SetActions("w1", keyOf("a"), []Action{{ID: "hangs", Run: func(context.Context, client.Client) (any, error) {
		close(called)
		<-answer
		return nil, nil
	}}})
	<-called
	if w.state("w1").DegradedReason != "" {
		t.Error("an answer is overdue at once")
	}
	before := w.countLists("w1")
	clock.Step(minLatencyLimit)
	if w.state("w1").DegradedReason == "" {
		t.Error("no answer is overdue")
	}
	if request, _ := queue.Get(); request.NamespacedName != keyOf("a") {
		t.Errorf("%v is looked at", request)
	}
	w.eventually("the cluster is probed", func() bool { return w.countLists("w1") > before })
	close(answer)
	w.fleet.SetActions("w1", keyOf("b"), []Action{{ID: "is quick", Run: func(context.Context, client.Client) (any, error) { return nil, nil }}})
	w.eventually("answers come in time again", func() bool { return w.state("w1").DegradedReason == "" })
}
