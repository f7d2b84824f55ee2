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

// clusterQueues are queues of jobs, one for each cluster, each with its own goroutines. So a cluster that hangs holds up its own jobs only.
type clusterQueues struct {
	clock clock.WithTicker
	do    func(context.Context, client.ObjectKey) error
	// ctx ends when they are stopped.
	ctx    context.Context //nolint:containedctx // that of the goroutines, which begin when a cluster is first met
	cancel context.CancelFunc

	mu  sync.Mutex
	all map[string]clusterQueue
}

type clusterQueue = workqueue.TypedRateLimitingInterface[client.ObjectKey]

func newClusterQueues(clock clock.WithTicker, do func(context.Context, client.ObjectKey) error) *clusterQueues {
	ctx, cancel := context.WithCancel(context.Background())
	return &clusterQueues{clock: clock, do: do, ctx: ctx, cancel: cancel, all: map[string]clusterQueue{}}
}

// add adds a job to the queue of a cluster. It is false if that is full.
func (l *clusterQueues) add(cluster string, key client.ObjectKey) bool {
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

func (l *clusterQueues) open() clusterQueue {
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

// next does one job. It is false when the queue has ended.
func (l *clusterQueues) next(q clusterQueue) bool {
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

func (l *clusterQueues) stop() {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.all {
		q.ShutDown()
	}
}
