package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	ctrlhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// RequestSource carries "look at this object again" from supervisors to controllers of the hub. Sending never blocks. What is
// sent before a controller listens is kept for the first that does, and comes after what is new then.
type RequestSource struct {
	mu      sync.Mutex
	queues  []workqueue.TypedRateLimitingInterface[reconcile.Request]
	pending map[types.NamespacedName]struct{}
}

// Source is what a controller watches.
func (s *RequestSource) Source() source.Source { return source.Func(s.start) }

// start feeds a controller's queue from now on, at first with what was kept.
func (s *RequestSource) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = append(s.queues, queue)
	for key := range s.pending {
		addLowPriority(queue, key)
	}
	s.pending = nil
	return nil
}

// Enqueue asks for a look after the given delay; several requests for one object within it become one.
func (s *RequestSource) Enqueue(key types.NamespacedName, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepPending(key)
	for _, queue := range s.queues {
		if delay > 0 {
			queue.AddAfter(reconcile.Request{NamespacedName: key}, delay)
		} else {
			queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// EnqueueLowPriority asks for a look once nothing else is to be done: what a program finds when it starts comes after what is new, as it
// does with the hub's own objects.
func (s *RequestSource) EnqueueLowPriority(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepPending(key)
	for _, queue := range s.queues {
		addLowPriority(queue, key)
	}
}

// keepPending remembers requests until a controller listens. The caller holds the lock.
func (s *RequestSource) keepPending(key types.NamespacedName) {
	if len(s.queues) > 0 {
		return
	}
	if s.pending == nil {
		s.pending = map[types.NamespacedName]struct{}{}
	}
	s.pending[key] = struct{}{}
}

// addLowPriority adds a request behind those of events, if the queue knows priorities. Requests after a restart are as many
// as there are Workloads.
func addLowPriority(queue workqueue.TypedRateLimitingInterface[reconcile.Request], key types.NamespacedName) {
	request := reconcile.Request{NamespacedName: key}
	if ordered, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		ordered.AddWithOpts(priorityqueue.AddOpts{Priority: new(ctrlhandler.LowPriority)}, request)
		return
	}
	queue.Add(request)
}
