package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// orphanEnv is a fleet whose hub has the Workloads with names that begin with "own", a stopped clock and a queue of the hub.
type orphanEnv struct {
	*testEnv
	clock *clocktesting.FakeClock
	queue priorityqueue.PriorityQueue[reconcile.Request]
}

func newOrphanEnv(t *testing.T, names ...string) *orphanEnv {
	t.Helper()
	o := &orphanEnv{clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), queue: priorityqueue.New[reconcile.Request](t.Name())}
	t.Cleanup(o.queue.ShutDown)
	o.testEnv = newTestEnv(t, func(options *Options) {
		options.Clock = o.clock
		options.OwnsWorkload = func(key types.NamespacedName) bool { return strings.HasPrefix(key.Name, "own") }
	}, names...)
	if err := o.fleet.WorkloadRequests().start(t.Context(), o.queue); err != nil {
		t.Fatal(err)
	}
	return o
}

// drainRequests takes all that is in the queue, and counts which are orphans.
func (o *orphanEnv) drainRequests() (names []string, orphans int) {
	for o.queue.Len() > 0 {
		request, _ := o.queue.Get()
		o.queue.Done(request)
		names = append(names, request.Name)
		if strings.HasPrefix(request.Name, "orphan") {
			orphans++
		}
	}
	return names, orphans
}

// countWaiting is how many orphans of a cluster wait, and how many places are kept for them.
func (o *orphanEnv) countWaiting(cluster string) (waiting, places int) {
	w := o.fleet.lookup(cluster).orphans
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting), len(w.order)
}

func (o *orphanEnv) createOrphans(cluster string, from, until int) {
	o.t.Helper()
	for i := from; i < until; i++ {
		o.create(cluster, remoteWorkload(fmt.Sprintf("orphan-%05d", i), "hub"))
	}
}

// Any user with the right to create jobs on one worker can make any number that look like the hub's.
func TestOrphansOfOneClusterAreRequeuedTenASecondAndAfterAllElse(t *testing.T) {
	const many = 1_000
	o := newOrphanEnv(t, "w1", "w2")
	o.createOrphans("w1", 0, many)
	o.connect("w1", "w2")
	o.waitConnected("w1", "w2")
	o.eventually("the orphans wait", func() bool { n, _ := o.countWaiting("w1"); return n == many-orphanBurst })
	for _, cluster := range []string{"w1", "w2"} {
		o.create(cluster, remoteWorkload("own-"+cluster, "hub"))
	}
	o.eventually("all are told of", func() bool { return o.queue.Len() == orphanBurst+2 })
	names, orphans := o.drainRequests()
	if orphans != orphanBurst {
		t.Errorf("%d orphans are to be looked at, want %d", orphans, orphanBurst)
	}
	for _, name := range names[:2] {
		if !strings.HasPrefix(name, "own-") {
			t.Errorf("%s comes before the hub's own", name)
		}
	}
	o.create("w2", remoteWorkload("orphan-elsewhere", "hub"))
	o.eventually("another cluster's is told of", func() bool { return o.queue.Len() == 1 })
	o.drainRequests()
	for second := range 3 {
		o.clock.Step(time.Second)
		o.eventually("their turn", func() bool { n, _ := o.countWaiting("w1"); return n == many-orphanBurst-10*(second+1) })
		if names, orphans := o.drainRequests(); orphans != 10 || len(names) != 10 {
			t.Errorf("in a second %d orphans are looked at, of %d", orphans, len(names))
		}
	}
	for left, _ := o.countWaiting("w1"); left > 0; left, _ = o.countWaiting("w1") {
		o.clock.Step(time.Hour)
		o.eventually("as many as at once have their turn", func() bool { n, _ := o.countWaiting("w1"); return n == max(left-orphanBurst, 0) })
	}
}

func TestOfOrphansThatWentNothingIsKept(t *testing.T) {
	o := newOrphanEnv(t, "w1")
	o.connect("w1")
	o.waitConnected("w1")
	const each, rounds = 50, 20
	o.createOrphans("w1", 0, orphanBurst)
	o.eventually("the first have their turn", func() bool { return o.queue.Len() == orphanBurst })
	for round := range rounds {
		from := 1000 + round*each
		o.createOrphans("w1", from, from+each)
		o.eventually("they wait", func() bool { n, _ := o.countWaiting("w1"); return n == each })
		for i := from; i < from+each; i++ {
			o.deleteWorkload("w1", fmt.Sprintf("orphan-%05d", i))
		}
		o.eventually("they went", func() bool { n, _ := o.countWaiting("w1"); return n == 0 })
	}
	if _, places := o.countWaiting("w1"); places > 3*each {
		t.Errorf("%d places are kept for those that went", places)
	}
	s := o.fleet.lookup("w1")
	if kept := s.deletedObjects.totalBytes(); kept != 0 {
		t.Errorf("%d bytes are remembered of them", kept)
	}
	if _, orphans := o.drainRequests(); orphans != orphanBurst {
		t.Errorf("%d were looked at, want those %d that had their turn", orphans, orphanBurst)
	}
}

// What was begun for an orphan ends with it: no reconcile looks at it any more to say so.
func TestWhatWasToBeDoneForAnOrphanIsForgottenWithIt(t *testing.T) {
	o := newOrphanEnv(t, "w1")
	o.connect("w1")
	o.waitConnected("w1")
	o.createOrphans("w1", 0, 1)
	key := keyOf("orphan-00000")
	o.eventually("it is seen", func() bool { return o.hasWorkload("w1", key.Name) })
	o.fleet.SetActions("w1", key, []Action{{ID: "fails", Run: func(context.Context, client.Client) (any, error) {
		return nil, errors.New("no")
	}}})
	o.eventually("it failed", func() bool { return len(o.fleet.ActionResults("w1", key)) == 1 })
	o.deleteWorkload("w1", key.Name)
	o.eventually("it is forgotten", func() bool { return len(o.fleet.ActionResults("w1", key)) == 0 })
}

// The hub's own are remembered, and told of at once, whatever waits.
func TestTheHubsOwnAreRememberedWhateverWaits(t *testing.T) {
	o := newOrphanEnv(t, "w1")
	o.connect("w1")
	o.waitConnected("w1")
	o.create("w1", remoteWorkload("own", "hub"))
	o.eventually("it is seen", func() bool { return o.hasWorkload("w1", "own") })
	o.createOrphans("w1", 0, orphanBurst+10)
	o.eventually("orphans wait", func() bool { n, _ := o.countWaiting("w1"); return n == 10 })
	o.drainRequests()
	o.deleteWorkload("w1", "own")
	o.eventually("it is told of", func() bool { return o.queue.Len() == 1 })
	if _, remembered := o.fleet.LastDeleted("w1", workloadGVK, keyOf("own")); !remembered {
		t.Error("it is not remembered")
	}
}

// A sweep finds what is seen already, again and again.
func TestOrphansFoundTwiceAreRequeuedOnce(t *testing.T) {
	o := newOrphanEnv(t, "w1")
	o.connect("w1")
	o.waitConnected("w1")
	o.createOrphans("w1", 0, orphanBurst+3)
	o.eventually("some wait", func() bool { n, _ := o.countWaiting("w1"); return n == 3 })
	for range 5 {
		for i := range 3 {
			o.fleet.RequeueWorkload("w1", client.ObjectKey{Namespace: "ns", Name: fmt.Sprintf("orphan-%05d", orphanBurst+i)})
		}
	}
	if n, places := o.countWaiting("w1"); n != 3 || places != 3 {
		t.Errorf("%d wait at %d places", n, places)
	}
	o.fleet.Disconnect("w1", errCredentialsChanged)
	o.eventually("nothing waits for a cluster that is away", func() bool { n, _ := o.countWaiting("w1"); return n == 0 })
}
