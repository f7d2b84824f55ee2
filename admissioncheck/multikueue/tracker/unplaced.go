package tracker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

// PodSetsRecheckInterval is after how long a Workload with several pod sets is looked at again in any case: for it figures may
// decide.
const PodSetsRecheckInterval = time.Minute

// Unplaced is a Workload that looks for a cluster and that some clusters cannot be offered as things are there, whether it has
// an offer elsewhere or not. It is decided again once what kept it from one of them has changed.
type Unplaced struct {
	Key admission.Key
	// LocalQueue is that of the Workload, and of its copies.
	LocalQueue admission.Key
	// DecidedAt is when that was decided. RecheckAt is when to decide again though nothing changes; zero for never.
	DecidedAt, RecheckAt time.Time
	// Ineligible are the clusters that it cannot be offered.
	Ineligible []Ineligible
}

// Ineligible is a cluster that a Workload cannot be offered, and the terms of its LocalQueue there when that was decided.
type Ineligible struct {
	Cluster string
	Terms   placement.Terms
}

// UnplacedIndex finds Workloads by what kept them from clusters, so that what has not changed costs nothing however many they
// are. [Tracker.Unplaced] returns it. A Workload that is forgotten leaves it.
type UnplacedIndex struct {
	// workloads has every Workload of the index once.
	workloads map[admission.Key]*Unplaced
	// rechecks are those with a RecheckAt.
	rechecks map[admission.Key]*Unplaced
	clusters map[string]*ineligibleIndex
}

// ineligibleIndex is a cluster that Workloads cannot be offered.
type ineligibleIndex struct {
	// compared is the capacity that its terms were compared with last, except those of the uncompared LocalQueues.
	compared   *placement.Capacity
	uncompared map[admission.Key]bool
	// workloads are by LocalQueue, terms and name.
	workloads map[admission.Key]map[placement.Terms]map[admission.Key]*Unplaced
}

// Unplaced returns the index of the Workloads that some clusters cannot be offered. It is guarded by the lock of the Tracker.
func (t *Tracker) Unplaced() *UnplacedIndex { return &t.unplaced }

// newUnplacedIndex returns an empty index.
func newUnplacedIndex() UnplacedIndex {
	return UnplacedIndex{
		workloads: map[admission.Key]*Unplaced{}, rechecks: map[admission.Key]*Unplaced{}, clusters: map[string]*ineligibleIndex{},
	}
}

// Set records what was decided of a Workload last; nil for one that no news of capacity concern.
func (x *UnplacedIndex) Set(key admission.Key, u *Unplaced) {
	x.remove(key)
	if u == nil {
		return
	}
	x.workloads[key] = u
	if !u.RecheckAt.IsZero() {
		x.rechecks[key] = u
	}
	for _, in := range u.Ineligible {
		if x.clusters[in.Cluster] == nil {
			x.clusters[in.Cluster] = &ineligibleIndex{
				uncompared: map[admission.Key]bool{}, workloads: map[admission.Key]map[placement.Terms]map[admission.Key]*Unplaced{},
			}
		}
		x.clusters[in.Cluster].add(u, in.Terms)
	}
}

// add enters a Workload under its LocalQueue and the terms that were decided on.
func (x *ineligibleIndex) add(u *Unplaced, terms placement.Terms) {
	if x.workloads[u.LocalQueue] == nil {
		x.workloads[u.LocalQueue] = map[placement.Terms]map[admission.Key]*Unplaced{}
	}
	if x.workloads[u.LocalQueue][terms] == nil {
		x.workloads[u.LocalQueue][terms] = map[admission.Key]*Unplaced{}
		x.uncompared[u.LocalQueue] = true
	}
	x.workloads[u.LocalQueue][terms][u.Key] = u
}

// remove takes a Workload out, wherever it is entered. It does nothing for one that is not in the index.
func (x *UnplacedIndex) remove(key admission.Key) {
	u := x.workloads[key]
	if u == nil {
		return
	}
	delete(x.workloads, key)
	delete(x.rechecks, key)
	for _, in := range u.Ineligible {
		by := x.clusters[in.Cluster]
		delete(by.workloads[u.LocalQueue][in.Terms], key)
		if len(by.workloads[u.LocalQueue][in.Terms]) == 0 {
			delete(by.workloads[u.LocalQueue], in.Terms)
		}
		if len(by.workloads[u.LocalQueue]) == 0 {
			delete(by.workloads, u.LocalQueue)
			delete(by.uncompared, u.LocalQueue)
		}
		if len(by.workloads) == 0 {
			delete(x.clusters, in.Cluster)
		}
	}
}

// IneligibleClusters names the clusters that some Workload cannot be offered.
func (x *UnplacedIndex) IneligibleClusters() []string {
	return slices.Collect(maps.Keys(x.clusters))
}

// UncomparedQueues returns the LocalQueues whose terms on a cluster have to be compared with those that Workloads were refused
// by, and takes that for done: all of them if the capacity is another one than at the last comparison, else those entered since.
func (x *UnplacedIndex) UncomparedQueues(cluster string, capacity *placement.Capacity) []admission.Key {
	by := x.clusters[cluster]
	if by == nil {
		return nil
	}
	queues := slices.Collect(maps.Keys(by.uncompared))
	if by.compared != capacity {
		by.compared, queues = capacity, slices.Collect(maps.Keys(by.workloads))
	}
	clear(by.uncompared)
	return queues
}

// ChangedTerms returns the Workloads of a LocalQueue that were kept from a cluster by other terms than it has now.
func (x *UnplacedIndex) ChangedTerms(cluster string, queue admission.Key, terms placement.Terms) []*Unplaced {
	by := x.clusters[cluster]
	if by == nil {
		return nil
	}
	var list []*Unplaced
	for of, kept := range by.workloads[queue] {
		if of != terms {
			list = slices.AppendSeq(list, maps.Values(kept))
		}
	}
	return list
}

// Overdue returns the Workloads that are decided again in any case.
func (x *UnplacedIndex) Overdue(now time.Time) []*Unplaced {
	var list []*Unplaced
	for _, u := range x.rechecks {
		if !now.Before(u.RecheckAt) {
			list = append(list, u)
		}
	}
	return list
}

// Pop takes out those of the Workloads that were decided longest ago, at most so many, and returns their names. The others have
// to be compared again. A Workload that is decided again is entered again if need be.
func (x *UnplacedIndex) Pop(affected []*Unplaced, most int) []admission.Key {
	slices.SortFunc(affected, func(a, b *Unplaced) int {
		return cmp.Or(a.DecidedAt.Compare(b.DecidedAt), a.Key.Compare(b.Key))
	})
	var keys []admission.Key
	for i, u := range slices.Compact(affected) {
		switch {
		case x.workloads[u.Key] != u:
		case i < most:
			x.remove(u.Key)
			keys = append(keys, u.Key)
		default:
			for _, in := range u.Ineligible {
				x.clusters[in.Cluster].uncompared[u.LocalQueue] = true
			}
		}
	}
	return keys
}
