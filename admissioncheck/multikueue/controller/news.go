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

// News makes the resolver look again at Workloads that some cluster could not be offered, once what decides that is not what
// it was: a LocalQueue was made there, a queue resumed, a quota raised, or a report has ceased to count. It compares, and so
// misses nothing, however late: what a Workload was refused by was noted when that was decided. Figures that only say how
// much is free decide nothing, and are no news.
type News struct {
	Resolver *Resolver
	// Every is the time between two comparisons.
	Every time.Duration
	Clock clock.WithTicker
}

const (
	// newsEvery is how long news of capacity take at most, and newsMost how many Workloads they wake at a time, those that
	// were looked at longest ago first: a queue that opens and closes with a thousand waiting for it costs no more than that.
	newsEvery, newsMost = 500 * time.Millisecond, 100
	// newsAnyway is after how long a Workload with several pod sets is looked at again in any case: for it figures may decide.
	newsAnyway = time.Minute
)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (n *News) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (n *News) Start(ctx context.Context) error {
	every(ctx, n.Clock, n.Every, func() { n.spread() })
	return nil
}

// spread wakes those concerned, and returns how many.
func (n *News) spread() int {
	r, now := n.Resolver, n.Clock.Now()
	due := r.starving.due(now, func(cluster string) *placement.Capacity { return r.capacity(cluster, now) }, r.capacities.terms)
	for _, key := range due {
		r.Fleet.WorkloadRequests().Enqueue(key, 0)
	}
	return len(due)
}

// starving are the Workloads that look for a cluster and that some cluster cannot be offered as things are there, whether they
// have an offer out elsewhere or not: news of capacity concern them. They are found by what kept them, so that what has not
// changed costs nothing however many they are.
type starving struct {
	mu    sync.Mutex
	keys  map[types.NamespacedName]*starved
	timed map[types.NamespacedName]*starved // those to look at again anyway
	by    map[string]*keeper                // by cluster
}

// keeper is a cluster that Workloads cannot be offered.
type keeper struct {
	// capacity is that which its terms were compared with last, except those of the fresh LocalQueues.
	capacity *placement.Capacity
	fresh    map[admission.Key]bool
	kept     map[admission.Key]map[placement.Terms]map[types.NamespacedName]*starved
}

// starved is what was decided of one Workload, and when.
type starved struct {
	key    types.NamespacedName
	local  admission.Key
	since  time.Time
	anyway time.Time // when to look at it again if nothing changes; zero for never
	kept   []keptFrom
}

// keptFrom is a cluster that a Workload cannot be offered, and its terms.
type keptFrom struct {
	cluster string
	terms   placement.Terms
}

// starvedOf is nil if no news of capacity matter to the Workload.
func starvedOf(s *subject) *starved {
	if len(s.kept) == 0 || s.state.Bound != "" || s.policy.Dispatcher != dispatch.BestFit {
		return nil
	}
	wl := s.original.Workload
	is := &starved{key: s.key(), local: localOf(wl), since: s.observed.Now, kept: s.kept}
	if len(wl.Spec.PodSets) > 1 {
		is.anyway = is.since.Add(newsAnyway)
	}
	return is
}

// set notes what was decided last; nothing if that is nil.
func (s *starving) set(key types.NamespacedName, is *starved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(s.keys[key])
	if is == nil {
		return
	}
	if s.keys == nil {
		s.keys, s.timed, s.by = map[types.NamespacedName]*starved{}, map[types.NamespacedName]*starved{}, map[string]*keeper{}
	}
	s.keys[key] = is
	if !is.anyway.IsZero() {
		s.timed[key] = is
	}
	for _, k := range is.kept {
		if s.by[k.cluster] == nil {
			s.by[k.cluster] = &keeper{
				fresh: map[admission.Key]bool{}, kept: map[admission.Key]map[placement.Terms]map[types.NamespacedName]*starved{},
			}
		}
		s.by[k.cluster].keep(is, k.terms)
	}
}

// keep enters a Workload under its LocalQueue and the terms that were decided on.
func (k *keeper) keep(is *starved, terms placement.Terms) {
	if k.kept[is.local] == nil {
		k.kept[is.local] = map[placement.Terms]map[types.NamespacedName]*starved{}
	}
	if k.kept[is.local][terms] == nil {
		k.kept[is.local][terms] = map[types.NamespacedName]*starved{}
		k.fresh[is.local] = true
	}
	k.kept[is.local][terms][is.key] = is
}

// leave takes a Workload out; nil is none. It needs the lock.
func (s *starving) leave(is *starved) {
	if is == nil {
		return
	}
	delete(s.keys, is.key)
	delete(s.timed, is.key)
	for _, k := range is.kept {
		by := s.by[k.cluster]
		delete(by.kept[is.local][k.terms], is.key)
		if len(by.kept[is.local][k.terms]) == 0 {
			delete(by.kept[is.local], k.terms)
		}
		if len(by.kept[is.local]) == 0 {
			delete(by.kept, is.local)
			delete(by.fresh, is.local)
		}
		if len(by.kept) == 0 {
			delete(s.by, k.cluster)
		}
	}
}

// due takes out those for which something has changed, at most newsMost: whoever is looked at is entered again if need be.
// Only what was not compared yet is: the LocalQueues of a cluster whose capacity is another one, and those that somebody was
// entered under. The mutex is not held while capacities and terms are found out.
func (s *starving) due(
	now time.Time, capacity func(cluster string) *placement.Capacity,
	terms func(cluster string, capacity *placement.Capacity, local admission.Key) placement.Terms,
) []types.NamespacedName {
	concerned := s.overdue(now)
	for _, cluster := range s.clusters() {
		has := capacity(cluster)
		for _, local := range s.unsure(cluster, has) {
			concerned = append(concerned, s.differing(cluster, local, terms(cluster, has, local))...)
		}
	}
	slices.SortFunc(concerned, func(a, b *starved) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(a.key.String(), b.key.String()))
	})
	return s.take(slices.Compact(concerned))
}

// overdue are those that are looked at again anyway.
func (s *starving) overdue(now time.Time) []*starved {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*starved
	for _, is := range s.timed {
		if !now.Before(is.anyway) {
			list = append(list, is)
		}
	}
	return list
}

func (s *starving) clusters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.by))
}

// unsure are the LocalQueues of a cluster whose terms have to be compared, which is taken for done.
func (s *starving) unsure(cluster string, has *placement.Capacity) []admission.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := s.by[cluster]
	if by == nil {
		return nil
	}
	locals := slices.Collect(maps.Keys(by.fresh))
	if by.capacity != has {
		by.capacity, locals = has, slices.Collect(maps.Keys(by.kept))
	}
	clear(by.fresh)
	return locals
}

// differing are those of a LocalQueue that were kept from a cluster by other terms than it has now.
func (s *starving) differing(cluster string, local admission.Key, terms placement.Terms) []*starved {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[cluster] == nil {
		return nil
	}
	var list []*starved
	for of, kept := range s.by[cluster].kept[local] {
		if of != terms {
			list = slices.AppendSeq(list, maps.Values(kept))
		}
	}
	return list
}

// take takes out the first of those concerned; the others have to be compared again.
func (s *starving) take(concerned []*starved) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []types.NamespacedName
	for i, is := range concerned {
		switch {
		case s.keys[is.key] != is:
		case i < newsMost:
			s.leave(is)
			keys = append(keys, is.key)
		default:
			for _, k := range is.kept {
				s.by[k.cluster].fresh[is.local] = true
			}
		}
	}
	return keys
}
