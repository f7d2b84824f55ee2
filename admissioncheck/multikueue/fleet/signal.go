package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Signal carries "look at this object again" from supervisors to controllers of the hub. Sending never blocks; what is
// sent before anybody listens is kept for the first who does.
type Signal struct {
	mu     sync.Mutex
	queues []workqueue.TypedRateLimitingInterface[reconcile.Request]
	early  map[types.NamespacedName]struct{}
}

// Source is what a controller watches.
func (s *Signal) Source() source.Source { return source.Func(s.start) }

func (s *Signal) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = append(s.queues, queue)
	for key := range s.early {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
	s.early = nil
	return nil
}

// Send asks for a look after the given delay; several requests for one object within it become one.
func (s *Signal) Send(key types.NamespacedName, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queues) == 0 {
		if s.early == nil {
			s.early = map[types.NamespacedName]struct{}{}
		}
		s.early[key] = struct{}{}
	}
	for _, queue := range s.queues {
		if delay > 0 {
			queue.AddAfter(reconcile.Request{NamespacedName: key}, delay)
		} else {
			queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
}
