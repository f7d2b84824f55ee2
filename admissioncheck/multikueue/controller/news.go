package controller

import (
	"cmp"
	"context"
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
	due := r.starving.due(now, func(cluster string, local admission.Key) placement.Terms {
		return r.capacities.terms(cluster, r.capacity(cluster, now), local)
	})
	for _, key := range due {
		r.Fleet.Workloads().Send(key, 0)
	}
	return len(due)
}

// starving are the Workloads that look for a cluster and that some cluster cannot be offered as things are there, whether they
// have an offer out elsewhere or not: news of capacity concern them.
type starving struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]*starved
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
	if is == nil {
		delete(s.keys, key)
		return
	}
	if s.keys == nil {
		s.keys = map[types.NamespacedName]*starved{}
	}
	s.keys[key] = is
}

// due takes out those for which something has changed, at most newsMost: whoever is looked at is entered again if need be. The
// mutex is not held while the terms are found out.
func (s *starving) due(now time.Time, terms func(cluster string, local admission.Key) placement.Terms) []types.NamespacedName {
	type place struct {
		cluster string
		local   admission.Key
	}
	known := map[place]placement.Terms{}
	changed := func(is *starved) bool {
		return !is.anyway.IsZero() && !now.Before(is.anyway) || slices.ContainsFunc(is.kept, func(k keptFrom) bool {
			at := place{k.cluster, is.local}
			if _, asked := known[at]; !asked {
				known[at] = terms(k.cluster, is.local)
			}
			return known[at] != k.terms
		})
	}
	concerned := slices.DeleteFunc(s.all(), func(is *starved) bool { return !changed(is) })
	slices.SortFunc(concerned, func(a, b *starved) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(a.key.String(), b.key.String()))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []types.NamespacedName
	for _, is := range concerned[:min(newsMost, len(concerned))] {
		if s.keys[is.key] == is {
			delete(s.keys, is.key)
			keys = append(keys, is.key)
		}
	}
	return keys
}

func (s *starving) all() []*starved {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*starved, 0, len(s.keys))
	for _, is := range s.keys {
		list = append(list, is)
	}
	return list
}
