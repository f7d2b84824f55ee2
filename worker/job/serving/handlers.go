package serving

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// BatchPeriod is how long events about the pods of one object are gathered: they come many at a time, and one look is for all.
const BatchPeriod = time.Second

// Batched looks at an object some time after an event about something of it, once for all events in between. The clock is that of the
// work queue.
func Batched(owner Owner) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(obj client.Object, q queue) {
		if key, ok := owner(obj); ok {
			q.AddAfter(reconcile.Request{NamespacedName: key}, BatchPeriod)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, q) },
	}
}

// AtOnce looks at an object after every event about something of it.
func AtOnce(owner Owner) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		if key, ok := owner(obj); ok {
			return []reconcile.Request{{NamespacedName: key}}
		}
		return nil
	})
}

// Creations passes the creation of an object only.
func Creations() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// ComingsAndGoings passes the creation and the deletion of an object.
func ComingsAndGoings() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// UpdatesAndDeletions passes the changes and the deletion of an object.
func UpdatesAndDeletions() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}
}
