package view

import (
	"context"
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

type subscriber struct {
	topic topic
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// ClusterQueueRequests tells a controller which ClusterQueues have changed: their activity at once, their figures gathered. All
// that are known when the controller starts count as changed.
func (v *View) ClusterQueueRequests() source.Source { return v.newSource(clusterQueueTopic) }

// LocalQueueRequests does the same for LocalQueues.
func (v *View) LocalQueueRequests() source.Source { return v.newSource(localQueueTopic) }

// FlavorRequests tells a controller which ResourceFlavors have changed, or came into or out of use by a ClusterQueue.
func (v *View) FlavorRequests() source.Source { return v.newSource(flavorTopic) }

// CohortRequests tells a controller which cohorts have changed, with or without an object: their place in the tree at once, the
// figures of the queues below them gathered.
func (v *View) CohortRequests() source.Source { return v.newSource(cohortTopic) }

func (v *View) newSource(t topic) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.subscribers = append(v.subscribers, subscriber{topic: t, queue: queue})
		for _, key := range v.topicKeys(t) {
			queue.Add(requestFor(key))
		}
		return nil
	})
}

func (v *View) topicKeys(t topic) []admission.Key {
	var keys []admission.Key
	switch t {
	case clusterQueueTopic:
		keys = clusterScopedKeys(v.clusterQueues)
	case localQueueTopic:
		for key := range v.localQueues {
			keys = append(keys, key)
		}
	case flavorTopic:
		keys = clusterScopedKeys(v.flavors)
	case cohortTopic:
		for _, c := range v.snap.Cohorts() {
			keys = append(keys, admission.Key{Name: c.Name})
		}
	case clusterQueueTreeTopic, cohortTreeTopic: // Nobody subscribes to them.
	}
	return keys
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

// notify adds to the controllers' queues, which keep each name once. Names that may wait are kept until the interval is
// over: one timer for all of them. A name that is gathered for and then changes at once is looked at twice; the second look
// finds nothing to do.
func (v *View) notify(t topic, key admission.Key, u urgency) {
	if len(v.subscribers) == 0 {
		return
	}
	if u == notifyBatched {
		if len(v.batchedNotifications) == 0 {
			time.AfterFunc(StatusInterval, v.flushNotifications)
		}
		v.batchedNotifications[notification{t, key}] = true
		return
	}
	v.notifySubscribers(notification{t, key})
}

// notification is that something about an object changed.
type notification struct {
	topic topic
	key   admission.Key
}

func (v *View) notifySubscribers(n notification) {
	for _, s := range v.subscribers {
		if s.topic == n.topic {
			s.queue.Add(requestFor(n.key))
		}
	}
}

// flushNotifications tells what has been gathered. What changes in a queue changes the cohorts above it.
func (v *View) flushNotifications() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expandTreeNotifications()
	above := map[string]bool{}
	for n := range v.batchedNotifications {
		v.notifySubscribers(n)
		if n.topic == clusterQueueTopic {
			for _, cohort := range v.snap.AncestorCohorts(n.key.Name) {
				above[cohort] = true
			}
		}
	}
	for cohort := range above {
		v.notifyCohort(cohort)
	}
	clear(v.batchedNotifications)
}

// expandTreeNotifications adds the queues of the trees in which quota changed: the share of each is one of what all have.
func (v *View) expandTreeNotifications() {
	seen := map[string]bool{} // Trees by their first queue.
	for n := range v.batchedNotifications {
		var family []string
		switch n.topic {
		case clusterQueueTreeTopic:
			family = v.snap.QueuesInTree(n.key.Name)
		case cohortTreeTopic:
			family = v.snap.QueuesInCohortTree(n.key.Name)
		default:
			continue
		}
		if len(family) == 0 || seen[family[0]] {
			continue
		}
		seen[family[0]] = true
		for _, name := range family {
			v.batchedNotifications[notification{clusterQueueTopic, admission.Key{Name: name}}] = true
		}
	}
}

// notifyCohort says that a cohort came, went or stands otherwise. The name may be empty.
func (v *View) notifyCohort(name string) {
	if name != "" {
		v.notify(cohortTopic, admission.Key{Name: name}, notifyNow)
	}
}

// notifyClusterQueueQuota says that a ClusterQueue came, went, moved or has other quota; either version may be nil.
func (v *View) notifyClusterQueueQuota(was, is *clusterQueue) {
	for _, cq := range []*clusterQueue{was, is} {
		if cq != nil {
			cohort := string(cq.obj.Spec.CohortName)
			v.notifyCohort(cohort)
			v.notify(cohortTreeTopic, admission.Key{Name: cohort}, notifyBatched)
			v.notify(clusterQueueTreeTopic, admission.Key{Name: cq.obj.Name}, notifyBatched)
		}
	}
}

// notifyCohortQuota is the same for a Cohort.
func (v *View) notifyCohortQuota(was, is *kueue.Cohort) {
	for _, c := range []*kueue.Cohort{was, is} {
		if c != nil {
			v.notifyCohort(c.Name)
			v.notifyCohort(string(c.Spec.ParentName))
			v.notify(cohortTreeTopic, admission.Key{Name: c.Name}, notifyBatched)
			v.notify(cohortTreeTopic, admission.Key{Name: string(c.Spec.ParentName)}, notifyBatched)
		}
	}
}

func (v *View) notifyClusterQueue(name string, u urgency) {
	v.notify(clusterQueueTopic, admission.Key{Name: name}, u)
}

func (v *View) notifyLocalQueue(key admission.Key, u urgency) { v.notify(localQueueTopic, key, u) }

func (v *View) notifyFlavor(name string) { v.notify(flavorTopic, admission.Key{Name: name}, notifyNow) }

// notifyEntryQueues says that figures changed in the queues of both places.
func (v *View) notifyEntryQueues(was, is snapshotEntry) {
	wasQueue, wasLocal := was.queueNames()
	isQueue, isLocal := is.queueNames()
	if wasQueue != "" {
		v.notifyClusterQueue(wasQueue, notifyBatched)
	}
	if isQueue != "" && isQueue != wasQueue {
		v.notifyClusterQueue(isQueue, notifyBatched)
	}
	if wasLocal != (admission.Key{}) {
		v.notifyLocalQueue(wasLocal, notifyBatched)
	}
	if isLocal != wasLocal && isLocal != (admission.Key{}) {
		v.notifyLocalQueue(isLocal, notifyBatched)
	}
}

// notifyFlavorsOf says that the flavors of a ClusterQueue may have come into or out of use.
func (v *View) notifyFlavorsOf(was, is *clusterQueue) {
	for _, cq := range []*clusterQueue{was, is} {
		if cq == nil {
			continue
		}
		for _, name := range flavorNames(cq.obj) {
			v.notifyFlavor(name)
		}
	}
}
