package logtail

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// perCluster is how many jobs of a cluster are looked at together, maxWaiting how many wait for that.
	perCluster = 2
	maxWaiting = 500
	// maxAttempts is how often a job is tried, with firstBackoff between the first two attempts, then twice as long.
	maxAttempts  = 3
	firstBackoff = 3 * time.Second
	maxBackoff   = time.Minute
)

// lanes are queues of jobs, one for each cluster, each with its own goroutines. So a cluster that hangs holds up its own jobs only.
type lanes struct {
	clock clock.WithTicker
	do    func(context.Context, client.ObjectKey) error
	// ctx ends when the lanes are stopped.
	ctx    context.Context //nolint:containedctx // that of the goroutines, which begin when a cluster is first met
	cancel context.CancelFunc

	mu  sync.Mutex
	all map[string]lane
}

type lane = workqueue.TypedRateLimitingInterface[client.ObjectKey]

func newLanes(clock clock.WithTicker, do func(context.Context, client.ObjectKey) error) *lanes {
	ctx, cancel := context.WithCancel(context.Background())
	return &lanes{clock: clock, do: do, ctx: ctx, cancel: cancel, all: map[string]lane{}}
}

// add adds a job to the lane of a cluster. It is false if the lane is full.
func (l *lanes) add(cluster string, key client.ObjectKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.all[cluster]
	if q == nil && l.ctx.Err() == nil {
		q = l.open()
		l.all[cluster] = q
	}
	if q == nil || q.Len() >= maxWaiting {
		return false
	}
	q.Add(key)
	return true
}

func (l *lanes) open() lane {
	q := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[client.ObjectKey](firstBackoff, maxBackoff),
		workqueue.TypedRateLimitingQueueConfig[client.ObjectKey]{Clock: l.clock},
	)
	for range perCluster {
		go func() {
			for l.next(q) {
			}
		}()
	}
	return q
}

// next does one job. It is false when the lane has ended.
func (l *lanes) next(q lane) bool {
	key, ended := q.Get()
	if ended {
		return false
	}
	defer q.Done(key)
	if err := l.do(l.ctx, key); err != nil && q.NumRequeues(key) < maxAttempts-1 {
		q.AddRateLimited(key)
		return true
	}
	q.Forget(key)
	return true
}

func (l *lanes) stop() {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.all {
		q.ShutDown()
	}
}
