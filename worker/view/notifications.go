package view

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// StatusInterval is how long changes of a queue's figures are gathered before its status is written (contract: kueue-api.md
// 1.18, "event driven, coalesced").
const StatusInterval = time.Second

// topic is a kind of object whose standing in the view can change.
type topic int

const (
	clusterQueueTopic topic = iota
	localQueueTopic
	flavorTopic
	cohortTopic
	// clusterQueueTreeTopic and cohortTrees are gathered only, and stand for all queues in the tree of the named one.
	clusterQueueTreeTopic
	cohortTreeTopic
)

// urgency says whether a change may wait for others.
type urgency bool

const (
	notifyNow     urgency = false
	notifyBatched urgency = true
)

// broadcaster tells controllers which objects stand otherwise in the view. Its unexported methods need the view's mutex.
type broadcaster struct {
	mu      *sync.Mutex
	objects *objectIndex
	snap    *admission.Snapshot

	subscribers []subscriber
	// batchedNotifications are changes that subscribers will be told of when the interval is over.
	batchedNotifications map[notification]bool
}

type subscriber struct {
	topic topic
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func clusterScopedKeys[T any](objects map[string]T) []admission.Key {
	keys := make([]admission.Key, 0, len(objects))
	for name := range objects {
		keys = append(keys, admission.Key{Name: name})
	}
	return keys
}

func requestFor(key admission.Key) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: key.Name}}
}

// notification is that something about an object changed.
type notification struct {
	topic topic
	key   admission.Key
}

// ClusterQueueRequests tells a controller which ClusterQueues have changed: their activity at once, their figures gathered. All
// that are known when the controller starts count as changed.
func (b *broadcaster) ClusterQueueRequests() source.Source { return b.newSource(clusterQueueTopic) }

// LocalQueueRequests does the same for LocalQueues.
func (b *broadcaster) LocalQueueRequests() source.Source { return b.newSource(localQueueTopic) }

// FlavorRequests tells a controller which ResourceFlavors have changed, or came into or out of use by a ClusterQueue.
func (b *broadcaster) FlavorRequests() source.Source { return b.newSource(flavorTopic) }

// CohortRequests tells a controller which cohorts have changed, with or without an object: their place in the tree at once, the
// figures of the queues below them gathered.
func (b *broadcaster) CohortRequests() source.Source { return b.newSource(cohortTopic) }

// newSource returns a source that subscribes when its controller starts, and requests all that is known of the topic then.
func (b *broadcaster) newSource(t topic) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.subscribers = append(b.subscribers, subscriber{topic: t, queue: queue})
		for _, key := range b.topicKeys(t) {
			queue.Add(requestFor(key))
		}
		return nil
	})
}

// topicKeys lists the objects of a topic that are known now.
func (b *broadcaster) topicKeys(t topic) []admission.Key {
	var keys []admission.Key
	switch t {
	case clusterQueueTopic:
		keys = clusterScopedKeys(b.objects.clusterQueues)
	case localQueueTopic:
		for key := range b.objects.localQueues {
			keys = append(keys, key)
		}
	case flavorTopic:
		keys = clusterScopedKeys(b.objects.flavors)
	case cohortTopic:
		for _, c := range b.snap.Cohorts() {
			keys = append(keys, admission.Key{Name: c.Name})
		}
	case clusterQueueTreeTopic, cohortTreeTopic: // Nobody subscribes to them.
	}
	return keys
}

// notify adds to the controllers' queues, which keep each name once. Names that may wait are kept until the interval is
// over: one timer for all of them. A name that is gathered for and then changes at once is looked at twice; the second look
// finds nothing to do.
func (b *broadcaster) notify(t topic, key admission.Key, u urgency) {
	if len(b.subscribers) == 0 {
		return
	}
	if u == notifyBatched {
		if len(b.batchedNotifications) == 0 {
			time.AfterFunc(StatusInterval, b.flushNotifications)
		}
		b.batchedNotifications[notification{t, key}] = true
		return
	}
	b.notifySubscribers(notification{t, key})
}

func (b *broadcaster) notifySubscribers(n notification) {
	for _, s := range b.subscribers {
		if s.topic == n.topic {
			s.queue.Add(requestFor(n.key))
		}
	}
}

// flushNotifications tells what has been gathered. What changes in a queue changes the cohorts above it.
func (b *broadcaster) flushNotifications() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expandTreeNotifications()
	above := map[string]bool{}
	for n := range b.batchedNotifications {
		b.notifySubscribers(n)
		if n.topic == clusterQueueTopic {
			for _, cohort := range b.snap.AncestorCohorts(n.key.Name) {
				above[cohort] = true
			}
		}
	}
	for cohort := range above {
		b.notifyCohort(cohort)
	}
	clear(b.batchedNotifications)
}

// expandTreeNotifications adds the queues of the trees in which quota changed: the share of each is one of what all have.
func (b *broadcaster) expandTreeNotifications() {
	seen := map[string]bool{} // Trees by their first queue.
	for n := range b.batchedNotifications {
		var family []string
		switch n.topic {
		case clusterQueueTreeTopic:
			family = b.snap.QueuesInTree(n.key.Name)
		case cohortTreeTopic:
			family = b.snap.QueuesInCohortTree(n.key.Name)
		default:
			continue
		}
		if len(family) == 0 || seen[family[0]] {
			continue
		}
		seen[family[0]] = true
		for _, name := range family {
			b.batchedNotifications[notification{clusterQueueTopic, admission.Key{Name: name}}] = true
		}
	}
}

// notifyCohort says that a cohort came, went or stands otherwise. The name may be empty.
func (b *broadcaster) notifyCohort(name string) {
	if name != "" {
		b.notify(cohortTopic, admission.Key{Name: name}, notifyNow)
	}
}

// notifyClusterQueueQuota says that a ClusterQueue came, went, moved or has other quota; either version may be nil.
func (b *broadcaster) notifyClusterQueueQuota(was, is *clusterQueue) {
	for _, cq := range []*clusterQueue{was, is} {
		if cq != nil {
			cohort := string(cq.obj.Spec.CohortName)
			b.notifyCohort(cohort)
			b.notify(cohortTreeTopic, admission.Key{Name: cohort}, notifyBatched)
			b.notify(clusterQueueTreeTopic, admission.Key{Name: cq.obj.Name}, notifyBatched)
		}
	}
}

// notifyCohortQuota is the same for a Cohort.
func (b *broadcaster) notifyCohortQuota(was, is *kueue.Cohort) {
	for _, c := range []*kueue.Cohort{was, is} {
		if c != nil {
			b.notifyCohort(c.Name)
			b.notifyCohort(string(c.Spec.ParentName))
			b.notify(cohortTreeTopic, admission.Key{Name: c.Name}, notifyBatched)
			b.notify(cohortTreeTopic, admission.Key{Name: string(c.Spec.ParentName)}, notifyBatched)
		}
	}
}

func (b *broadcaster) notifyClusterQueue(name string, u urgency) {
	b.notify(clusterQueueTopic, admission.Key{Name: name}, u)
}

func (b *broadcaster) notifyLocalQueue(key admission.Key, u urgency) {
	b.notify(localQueueTopic, key, u)
}

func (b *broadcaster) notifyFlavor(name string) {
	b.notify(flavorTopic, admission.Key{Name: name}, notifyNow)
}

// notifyEntryQueues says that figures changed in the queues of both places.
func (b *broadcaster) notifyEntryQueues(was, is snapshotEntry) {
	wasQueue, wasLocal := was.queueNames()
	isQueue, isLocal := is.queueNames()
	if wasQueue != "" {
		b.notifyClusterQueue(wasQueue, notifyBatched)
	}
	if isQueue != "" && isQueue != wasQueue {
		b.notifyClusterQueue(isQueue, notifyBatched)
	}
	if wasLocal != (admission.Key{}) {
		b.notifyLocalQueue(wasLocal, notifyBatched)
	}
	if isLocal != wasLocal && isLocal != (admission.Key{}) {
		b.notifyLocalQueue(isLocal, notifyBatched)
	}
}

// notifyFlavorsOf says that the flavors of a ClusterQueue may have come into or out of use.
func (b *broadcaster) notifyFlavorsOf(was, is *clusterQueue) {
	for _, cq := range []*clusterQueue{was, is} {
		if cq == nil {
			continue
		}
		for _, name := range flavorNames(cq.obj) {
			b.notifyFlavor(name)
		}
	}
}
