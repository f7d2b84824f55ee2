package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

// CapacityWatcher makes the resolver look again at Workloads that some cluster could not be offered, once what decides that is not what
// it was: a LocalQueue was made there, a queue resumed, a quota raised, or a report has ceased to count. It compares, and so
// misses nothing, however late: what a Workload was refused by was noted when that was decided. Figures that only say how
// much is free decide nothing, and are no news.
type CapacityWatcher struct {
	Reconciler *WorkloadReconciler
	// Interval is the time between two comparisons.
	Interval time.Duration
	Clock    clock.WithTicker
}

const (
	// capacityWatchInterval is how long news of capacity take at most, and newsMost how many Workloads they wake at a time, those that
	// were looked at longest ago first: a queue that opens and closes with a thousand waiting for it costs no more than that.
	capacityWatchInterval, maxCapacityRequeues = 500 * time.Millisecond, 100
	// podSetsRecheckInterval is after how long a Workload with several pod sets is looked at again in any case: for it figures may decide.
	podSetsRecheckInterval = time.Minute
)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (n *CapacityWatcher) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (n *CapacityWatcher) Start(ctx context.Context) error {
	runPeriodically(ctx, n.Clock, n.Interval, func() { n.requeueAffected() })
	return nil
}

// requeueAffected wakes those concerned, and returns how many.
func (n *CapacityWatcher) requeueAffected() int {
	r, now := n.Reconciler, n.Clock.Now()
	due := r.unplaced.popDue(now, func(cluster string) *placement.Capacity { return r.clusterCapacity(cluster, now) }, r.capacities.termsFor)
	for _, key := range due {
		r.Fleet.WorkloadRequests().Enqueue(key, 0)
	}
	return len(due)
}

// unplacedWorkloads are the Workloads that look for a cluster and that some cluster cannot be offered as things are there, whether they
// have an offer out elsewhere or not: news of capacity concern them. They are found by what kept them, so that what has not
// changed costs nothing however many they are.
type unplacedWorkloads struct {
	mu        sync.Mutex
	workloads map[types.NamespacedName]*unplacedWorkload
	rechecks  map[types.NamespacedName]*unplacedWorkload // those to look at again anyway
	clusters  map[string]*ineligibleIndex                // by cluster
}

// ineligibleIndex is a cluster that Workloads cannot be offered.
type ineligibleIndex struct {
	// comparedCapacity is that which its terms were compared with last, except those of the fresh LocalQueues.
	comparedCapacity *placement.Capacity
	uncompared       map[admission.Key]bool
	workloads        map[admission.Key]map[placement.Terms]map[types.NamespacedName]*unplacedWorkload
}

// unplacedWorkload is what was decided of one Workload, and when.
type unplacedWorkload struct {
	key        types.NamespacedName
	localQueue admission.Key
	decidedAt  time.Time
	recheckAt  time.Time // when to look at it again if nothing changes; zero for never
	ineligible []ineligibleCluster
}

// ineligibleCluster is a cluster that a Workload cannot be offered, and its terms.
type ineligibleCluster struct {
	cluster string
	terms   placement.Terms
}

// newUnplacedWorkload is nil if no news of capacity matter to the Workload.
func newUnplacedWorkload(s *workloadScope) *unplacedWorkload {
	if len(s.ineligible) == 0 || s.state.Bound != "" || s.policy.Dispatcher != dispatch.BestFit {
		return nil
	}
	wl := s.original.Workload
	is := &unplacedWorkload{key: s.key(), localQueue: localQueueKey(wl), decidedAt: s.observed.Now, ineligible: s.ineligible}
	if len(wl.Spec.PodSets) > 1 {
		is.recheckAt = is.decidedAt.Add(podSetsRecheckInterval)
	}
	return is
}

// update notes what was decided last; nothing if that is nil.
func (s *unplacedWorkloads) update(key types.NamespacedName, is *unplacedWorkload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.workloads[key])
	if is == nil {
		return
	}
	if s.workloads == nil {
		s.workloads, s.rechecks, s.clusters = map[types.NamespacedName]*unplacedWorkload{}, map[types.NamespacedName]*unplacedWorkload{}, map[string]*ineligibleIndex{}
	}
	s.workloads[key] = is
	if !is.recheckAt.IsZero() {
		s.rechecks[key] = is
	}
	for _, k := range is.ineligible {
		if s.clusters[k.cluster] == nil {
			s.clusters[k.cluster] = &ineligibleIndex{
				uncompared: map[admission.Key]bool{}, workloads: map[admission.Key]map[placement.Terms]map[types.NamespacedName]*unplacedWorkload{},
			}
		}
		s.clusters[k.cluster].add(is, k.terms)
	}
}

// add enters a Workload under its LocalQueue and the terms that were decided on.
func (k *ineligibleIndex) add(is *unplacedWorkload, terms placement.Terms) {
	if k.workloads[is.localQueue] == nil {
		k.workloads[is.localQueue] = map[placement.Terms]map[types.NamespacedName]*unplacedWorkload{}
	}
	if k.workloads[is.localQueue][terms] == nil {
		k.workloads[is.localQueue][terms] = map[types.NamespacedName]*unplacedWorkload{}
		k.uncompared[is.localQueue] = true
	}
	k.workloads[is.localQueue][terms][is.key] = is
}

// remove takes a Workload out; nil is none. It needs the lock.
func (s *unplacedWorkloads) remove(is *unplacedWorkload) {
	if is == nil {
		return
	}
	delete(s.workloads, is.key)
	delete(s.rechecks, is.key)
	for _, k := range is.ineligible {
		by := s.clusters[k.cluster]
		delete(by.workloads[is.localQueue][k.terms], is.key)
		if len(by.workloads[is.localQueue][k.terms]) == 0 {
			delete(by.workloads[is.localQueue], k.terms)
		}
		if len(by.workloads[is.localQueue]) == 0 {
			delete(by.workloads, is.localQueue)
			delete(by.uncompared, is.localQueue)
		}
		if len(by.workloads) == 0 {
			delete(s.clusters, k.cluster)
		}
	}
}

// popDue takes out those for which something has changed, at most newsMost: whoever is looked at is entered again if need be.
// Only what was not compared yet is: the LocalQueues of a cluster whose capacity is another one, and those that somebody was
// entered under. The mutex is not held while capacities and terms are found out.
func (s *unplacedWorkloads) popDue(
	now time.Time, capacity func(cluster string) *placement.Capacity,
	terms func(cluster string, capacity *placement.Capacity, local admission.Key) placement.Terms,
) []types.NamespacedName {
	concerned := s.listOverdue(now)
	for _, cluster := range s.listClusters() {
		has := capacity(cluster)
		for _, local := range s.popUncompared(cluster, has) {
			concerned = append(concerned, s.listChanged(cluster, local, terms(cluster, has, local))...)
		}
	}
	slices.SortFunc(concerned, func(a, b *unplacedWorkload) int {
		return cmp.Or(a.decidedAt.Compare(b.decidedAt), strings.Compare(a.key.String(), b.key.String()))
	})
	return s.pop(slices.Compact(concerned))
}

// listOverdue are those that are looked at again anyway.
func (s *unplacedWorkloads) listOverdue(now time.Time) []*unplacedWorkload {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*unplacedWorkload
	for _, is := range s.rechecks {
		if !now.Before(is.recheckAt) {
			list = append(list, is)
		}
	}
	return list
}

func (s *unplacedWorkloads) listClusters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.clusters))
}

// popUncompared are the LocalQueues of a cluster whose terms have to be compared, which is taken for done.
func (s *unplacedWorkloads) popUncompared(cluster string, has *placement.Capacity) []admission.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := s.clusters[cluster]
	if by == nil {
		return nil
	}
	locals := slices.Collect(maps.Keys(by.uncompared))
	if by.comparedCapacity != has {
		by.comparedCapacity, locals = has, slices.Collect(maps.Keys(by.workloads))
	}
	clear(by.uncompared)
	return locals
}

// listChanged are those of a LocalQueue that were kept from a cluster by other terms than it has now.
func (s *unplacedWorkloads) listChanged(cluster string, local admission.Key, terms placement.Terms) []*unplacedWorkload {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clusters[cluster] == nil {
		return nil
	}
	var list []*unplacedWorkload
	for of, kept := range s.clusters[cluster].workloads[local] {
		if of != terms {
			list = slices.AppendSeq(list, maps.Values(kept))
		}
	}
	return list
}

// pop takes out the first of those concerned; the others have to be compared again.
func (s *unplacedWorkloads) pop(concerned []*unplacedWorkload) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []types.NamespacedName
	for i, is := range concerned {
		switch {
		case s.workloads[is.key] != is:
		case i < maxCapacityRequeues:
			s.remove(is)
			keys = append(keys, is.key)
		default:
			for _, k := range is.ineligible {
				s.clusters[k.cluster].uncompared[is.localQueue] = true
			}
		}
	}
	return keys
}
