package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// looks counts how often the hub looked at each Workload.
type looks struct {
	mu sync.Mutex
	of map[types.NamespacedName]int
}

func (l *looks) at(key types.NamespacedName) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[key]
}

// looking begins to take Workloads that are to be looked at out of the signal.
func (w *world) looking() *looks {
	w.t.Helper()
	l := &looks{of: map[types.NamespacedName]int{}}
	queue := priorityqueue.New[reconcile.Request](w.t.Name())
	if err := w.fleet.Workloads().start(w.t.Context(), queue); err != nil {
		w.t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			request, shutdown := queue.Get()
			if shutdown {
				return
			}
			l.mu.Lock()
			l.of[request.NamespacedName]++
			l.mu.Unlock()
			queue.Done(request)
		}
	})
	w.t.Cleanup(func() { queue.ShutDown(); ended.Wait() })
	return l
}

// breakOpen has as many actions fail on a cluster as open its breaker; none is wanted afterwards.
func (w *world) breakOpen(cluster string) {
	w.t.Helper()
	fails := Action{ID: "fails", Run: func(context.Context, client.Client) (any, error) {
		return nil, apierrors.NewInternalError(errors.New("the webhook is down"))
	}}
	for i := range breakAfter {
		key := keyOf(fmt.Sprint("fails-", i))
		w.fleet.Do(cluster, key, []Action{fails})
		w.eventually("it has failed", func() bool { return len(w.fleet.Answers(cluster, key)) > 0 })
		w.fleet.Do(cluster, key, nil)
	}
	if got := w.state(cluster).Degraded; got != failing {
		w.t.Fatalf("degraded: %q", got)
	}
}

func TestAnOpenBreakerEndsForThoseWhoLookForAClusterToo(t *testing.T) {
	clock, seeker := clocktesting.NewFakeClock(noon), keyOf("seeks")
	w := newWorld(t, func(o *Options) {
		o.Clock, o.ProbeEvery = clock, time.Hour
		o.Concerned = func(string) (seekers, others []types.NamespacedName) {
			return []types.NamespacedName{seeker}, []types.NamespacedName{keyOf("runs")}
		}
	}, "w1")
	looked := w.looking()
	w.connect("w1")
	w.connected("w1")
	w.eventually("the connection is told of", func() bool { return looked.at(seeker) > 0 && looked.at(keyOf("runs")) > 0 })
	w.breakOpen("w1")

	before := looked.at(seeker)
	clock.Step(time.Second)
	if got := w.state("w1"); got.Degraded != failing || !got.OnTrial {
		t.Errorf("when it may be tried again: %q, on trial %v", got.Degraded, got.OnTrial)
	}
	w.eventually("somebody looks whether it can be tried", func() bool { return looked.at(seeker) > before })

	called, answer := make(chan struct{}), make(chan struct{})
	w.fleet.Do("w1", keyOf("tries"), []Action{{ID: "tries", Run: func(context.Context, client.Client) (any, error) {
		close(called)
		<-answer
		return nil, nil
	}}})
	<-called
	if got := w.state("w1"); got.Degraded == "" || got.OnTrial {
		t.Error("while one tries, the others are let in")
	}
	before = looked.at(seeker)
	close(answer)
	w.eventually("the others look again", func() bool { return looked.at(seeker) > before })
	if got := w.state("w1").Degraded; got != "" {
		t.Errorf("after a success it is degraded: %s", got)
	}
	if looked.at(keyOf("runs")) > 1 {
		t.Error("who has a cluster is looked at too")
	}
}

func TestABreakerIsOpenUntilSomethingMayBeTried(t *testing.T) {
	now, fail := noon, apierrors.NewInternalError(errors.New("etcd is slow"))
	var b breaker
	is := func(at time.Time) string {
		open, trial := b.open(at)
		return map[[2]bool]string{{}: "closed", {true}: "open", {true, true}: "on trial"}[[2]bool{open, trial}]
	}
	for range breakAfter - 1 {
		if _, news := b.done(fail, now); news || is(now) != "closed" {
			t.Fatal("open too soon")
		}
	}
	pause, news := b.done(fail, now)
	until := now.Add(pause)
	if !news || pause != time.Second || !b.paused(until) || is(until.Add(-1)) != "open" || is(until) != "on trial" {
		t.Errorf("after ten faults: pause %v, news %v", pause, news)
	}
	if b.wait(until, time.Minute, false) != 0 || b.paused(until) || is(until) != "open" {
		t.Error("the one that tries does not keep the others out")
	}
	if pause, news := b.done(nil, until); pause != 0 || !news || is(until) != "closed" {
		t.Errorf("after a success: pause %v, news %v", pause, news)
	}
	if _, news := b.done(nil, until); news {
		t.Error("another success is news")
	}
}
