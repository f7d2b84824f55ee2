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

// requeueCounts counts how often the hub looked at each Workload.
type requeueCounts struct {
	mu     sync.Mutex
	counts map[types.NamespacedName]int
}

func (l *requeueCounts) count(key types.NamespacedName) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[key]
}

// recordRequeues begins to take Workloads that are to be looked at out of the signal.
func (w *testEnv) recordRequeues() *requeueCounts {
	w.t.Helper()
	l := &requeueCounts{counts: map[types.NamespacedName]int{}}
	queue := priorityqueue.New[reconcile.Request](w.t.Name())
	if err := w.fleet.WorkloadRequests().start(w.t.Context(), queue); err != nil {
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
			l.counts[request.NamespacedName]++
			l.mu.Unlock()
			queue.Done(request)
		}
	})
	w.t.Cleanup(func() { queue.ShutDown(); ended.Wait() })
	return l
}

// openBreaker has as many actions fail on a cluster as open its breaker; none is wanted afterwards.
func (w *testEnv) openBreaker(cluster string) {
	w.t.Helper()
	fails := Action{ID: "fails", Run: func(context.Context, client.Client) (any, error) {
		return nil, apierrors.NewInternalError(errors.New("the webhook is down"))
	}}
	for i := range breakerThreshold {
		key := keyOf(fmt.Sprint("fails-", i))
		w.fleet.SetActions(cluster, key, []Action{fails})
		w.eventually("it has failed", func() bool { return len(w.fleet.ActionResults(cluster, key)) > 0 })
		w.fleet.SetActions(cluster, key, nil)
	}
	if got := w.state(cluster).DegradedReason; got != failingReason {
		w.t.Fatalf("degraded: %q", got)
	}
}

func TestAnOpenBreakerEndsForUnplacedWorkloadsToo(t *testing.T) {
	clock, seeker := clocktesting.NewFakeClock(noon), keyOf("seeks")
	w := newTestEnv(t, func(o *Options) {
		o.Clock, o.ProbeInterval = clock, time.Hour
		o.AffectedWorkloads = func(string) (seekers, others []types.NamespacedName) {
			return []types.NamespacedName{seeker}, []types.NamespacedName{keyOf("runs")}
		}
	}, "w1")
	looked := w.recordRequeues()
	w.connect("w1")
	w.waitConnected("w1")
	w.eventually("the connection is told of", func() bool { return looked.count(seeker) > 0 && looked.count(keyOf("runs")) > 0 })
	w.openBreaker("w1")

	before := looked.count(seeker)
	clock.Step(time.Second)
	if got := w.state("w1"); got.DegradedReason != failingReason || !got.AllowTrial {
		t.Errorf("when it may be tried again: %q, on trial %v", got.DegradedReason, got.AllowTrial)
	}
	w.eventually("somebody looks whether it can be tried", func() bool { return looked.count(seeker) > before })

	called, answer := make(chan struct{}), make(chan struct{})
	w.fleet.SetActions("w1", keyOf("tries"), []Action{{ID: "tries", Run: func(context.Context, client.Client) (any, error) {
		close(called)
		<-answer
		return nil, nil
	}}})
	<-called
	if got := w.state("w1"); got.DegradedReason == "" || got.AllowTrial {
		t.Error("while one tries, the others are let in")
	}
	before = looked.count(seeker)
	close(answer)
	w.eventually("the others look again", func() bool { return looked.count(seeker) > before })
	if got := w.state("w1").DegradedReason; got != "" {
		t.Errorf("after a success it is degraded: %s", got)
	}
	if looked.count(keyOf("runs")) > 1 {
		t.Error("who has a cluster is looked at too")
	}
}

func TestABreakerIsOpenUntilSomethingMayBeTried(t *testing.T) {
	now, fail := noon, apierrors.NewInternalError(errors.New("etcd is slow"))
	var b breaker
	is := func(at time.Time) string {
		open, trial := b.isOpen(at)
		return map[[2]bool]string{{}: "closed", {true}: "open", {true, true}: "on trial"}[[2]bool{open, trial}]
	}
	for range breakerThreshold - 1 {
		if _, news := b.recordResult(fail, now); news || is(now) != "closed" {
			t.Fatal("open too soon")
		}
	}
	pause, news := b.recordResult(fail, now)
	until := now.Add(pause)
	if !news || pause != time.Second || !b.isPausedUntil(until) || is(until.Add(-1)) != "open" || is(until) != "on trial" {
		t.Errorf("after ten faults: pause %v, news %v", pause, news)
	}
	if b.delay(until, time.Minute, false) != 0 || b.isPausedUntil(until) || is(until) != "open" {
		t.Error("the one that tries does not keep the others out")
	}
	if pause, news := b.recordResult(nil, until); pause != 0 || !news || is(until) != "closed" {
		t.Errorf("after a success: pause %v, news %v", pause, news)
	}
	if _, news := b.recordResult(nil, until); news {
		t.Error("another success is news")
	}
}
