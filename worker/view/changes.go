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
	clusterQueues topic = iota
	localQueues
	flavors
	cohorts
	// queueTrees and cohortTrees are gathered only, and stand for all queues in the tree of the named one.
	queueTrees
	cohortTrees
)

// urgency says whether a change may wait for others.
type urgency bool

const (
	atOnce urgency = false
	gather urgency = true
)

type subscriber struct {
	topic topic
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// ClusterQueues tells a controller which ClusterQueues have changed: their activity at once, their figures gathered. All
// that are known when the controller starts count as changed.
func (v *View) ClusterQueues() source.Source { return v.source(clusterQueues) }

// LocalQueues does the same for LocalQueues.
func (v *View) LocalQueues() source.Source { return v.source(localQueues) }

// Flavors tells a controller which ResourceFlavors have changed, or came into or out of use by a ClusterQueue.
func (v *View) Flavors() source.Source { return v.source(flavors) }

// Cohorts tells a controller which cohorts have changed, with or without an object: their place in the tree at once, the
// figures of the queues below them gathered.
func (v *View) Cohorts() source.Source { return v.source(cohorts) }

func (v *View) source(t topic) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.subscribers = append(v.subscribers, subscriber{topic: t, queue: queue})
		for _, key := range v.namesOf(t) {
			queue.Add(requestFor(key))
		}
		return nil
	})
}

func (v *View) namesOf(t topic) []admission.Key {
	var keys []admission.Key
	switch t {
	case clusterQueues:
		keys = clusterNames(v.queues)
	case localQueues:
		for key := range v.locals {
			keys = append(keys, key)
		}
	case flavors:
		keys = clusterNames(v.flavors)
	case cohorts:
		for _, c := range v.snap.Cohorts() {
			keys = append(keys, admission.Key{Name: c.Name})
		}
	case queueTrees, cohortTrees: // Nobody subscribes to them.
	}
	return keys
}

func clusterNames[T any](objects map[string]T) []admission.Key {
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
	if u == gather {
		if len(v.gathered) == 0 {
			time.AfterFunc(StatusInterval, v.flush)
		}
		v.gathered[news{t, key}] = true
		return
	}
	v.tellSubscribers(news{t, key})
}

// news is that something about an object changed.
type news struct {
	topic topic
	key   admission.Key
}

func (v *View) tellSubscribers(n news) {
	for _, s := range v.subscribers {
		if s.topic == n.topic {
			s.queue.Add(requestFor(n.key))
		}
	}
}

// flush tells what has been gathered. What changes in a queue changes the cohorts above it.
func (v *View) flush() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gatherTrees()
	above := map[string]bool{}
	for n := range v.gathered {
		v.tellSubscribers(n)
		if n.topic == clusterQueues {
			for _, cohort := range v.snap.CohortsAbove(n.key.Name) {
				above[cohort] = true
			}
		}
	}
	for cohort := range above {
		v.changedCohort(cohort)
	}
	clear(v.gathered)
}

// gatherTrees adds the queues of the trees in which quota changed: the share of each is one of what all have.
func (v *View) gatherTrees() {
	seen := map[string]bool{} // Trees by their first queue.
	for n := range v.gathered {
		var family []string
		switch n.topic {
		case queueTrees:
			family = v.snap.QueuesAround(n.key.Name)
		case cohortTrees:
			family = v.snap.QueuesOfTree(n.key.Name)
		default:
			continue
		}
		if len(family) == 0 || seen[family[0]] {
			continue
		}
		seen[family[0]] = true
		for _, name := range family {
			v.gathered[news{clusterQueues, admission.Key{Name: name}}] = true
		}
	}
}

// changedCohort says that a cohort came, went or stands otherwise. The name may be empty.
func (v *View) changedCohort(name string) {
	if name != "" {
		v.notify(cohorts, admission.Key{Name: name}, atOnce)
	}
}

// changedQuota says that a ClusterQueue came, went, moved or has other quota; either version may be nil.
func (v *View) changedQuota(was, is *clusterQueue) {
	for _, cq := range []*clusterQueue{was, is} {
		if cq != nil {
			cohort := string(cq.obj.Spec.CohortName)
			v.changedCohort(cohort)
			v.notify(cohortTrees, admission.Key{Name: cohort}, gather)
			v.notify(queueTrees, admission.Key{Name: cq.obj.Name}, gather)
		}
	}
}

// changedCohortQuota is the same for a Cohort.
func (v *View) changedCohortQuota(was, is *kueue.Cohort) {
	for _, c := range []*kueue.Cohort{was, is} {
		if c != nil {
			v.changedCohort(c.Name)
			v.changedCohort(string(c.Spec.ParentName))
			v.notify(cohortTrees, admission.Key{Name: c.Name}, gather)
			v.notify(cohortTrees, admission.Key{Name: string(c.Spec.ParentName)}, gather)
		}
	}
}

func (v *View) changedQueue(name string, u urgency) {
	v.notify(clusterQueues, admission.Key{Name: name}, u)
}

func (v *View) changedLocal(key admission.Key, u urgency) { v.notify(localQueues, key, u) }

func (v *View) changedFlavor(name string) { v.notify(flavors, admission.Key{Name: name}, atOnce) }

// changedPlaces says that figures changed in the queues of both places.
func (v *View) changedPlaces(was, is place) {
	wasQueue, wasLocal := was.queue()
	isQueue, isLocal := is.queue()
	if wasQueue != "" {
		v.changedQueue(wasQueue, gather)
	}
	if isQueue != "" && isQueue != wasQueue {
		v.changedQueue(isQueue, gather)
	}
	if wasLocal != (admission.Key{}) {
		v.changedLocal(wasLocal, gather)
	}
	if isLocal != wasLocal && isLocal != (admission.Key{}) {
		v.changedLocal(isLocal, gather)
	}
}

// changedUses says that the flavors of a ClusterQueue may have come into or out of use.
func (v *View) changedUses(was, is *clusterQueue) {
	for _, cq := range []*clusterQueue{was, is} {
		if cq == nil {
			continue
		}
		for _, name := range flavorsOf(cq.obj) {
			v.changedFlavor(name)
		}
	}
}
