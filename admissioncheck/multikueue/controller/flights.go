package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

// flights is what the hub has under way to the clusters: offers, from their nomination until the cluster itself counts what
// they take. It is a memory, and a guess where it is lost: a restart begins with nothing in flight.
type flights struct {
	mu      sync.Mutex
	ledger  *placement.Ledger
	under   map[string]map[types.NamespacedName]*flight // by cluster
	swept   map[string]sweepMark
	latency map[string]*latencies
	misses  map[string]misses
}

// misses are the offers in a row that a cluster did not admit in time, and when the last of them was seen to be one.
type misses struct {
	n  int
	at time.Time
}

// forgiven is how long a miss is held against a cluster.
const forgiven = 5 * time.Minute

// missed notes that the cluster did not admit an offer in time.
func (f *flights) missed(cluster string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.misses == nil {
		f.misses = map[string]misses{}
	}
	f.misses[cluster] = misses{n: f.misses[cluster].since(now) + 1, at: now}
}

// troubles counts the misses that are held against the cluster.
func (f *flights) troubles(cluster string, now time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.misses[cluster].since(now)
}

func (m misses) since(now time.Time) int {
	if now.Before(m.at.Add(forgiven)) {
		return m.n
	}
	return 0
}

// flight is one Workload on its way to one cluster.
type flight struct {
	// sent is when its copy was begun to be made there, in an epoch; zero if it was not, or that is not known.
	sent  time.Time
	epoch int64
	// offered is when its copy was made there; zero if that is not known.
	offered time.Time
	// reserved is when the copy got quota, by the cluster's clock, and seen when the hub saw it; zero while it has none.
	reserved, seen time.Time
	// until is when to drop it unless the nomination has been stored by then; zero once it is.
	until time.Time
	// counted tells that the cluster counts it itself by now.
	counted bool
}

type sweepMark struct{ report, at time.Time }

const (
	// unstored is how long a nomination counts that nobody has seen stored.
	unstored = 30 * time.Second
	// uncounted is how long a reservation counts on a cluster that does not say when it has counted.
	uncounted = 5 * time.Second
	// sweepEvery is how often flights are looked through although no report has come.
	sweepEvery = time.Second
)

func coreKey(key types.NamespacedName) admission.Key {
	return admission.Key{Namespace: key.Namespace, Name: key.Name}
}

// of returns a flight, made if need be. It needs the lock.
func (f *flights) of(cluster string, key types.NamespacedName) *flight {
	if f.under == nil {
		f.ledger, f.under = placement.NewLedger(), map[string]map[types.NamespacedName]*flight{}
	}
	if f.under[cluster] == nil {
		f.under[cluster] = map[types.NamespacedName]*flight{}
	}
	if f.under[cluster][key] == nil {
		f.under[cluster][key] = &flight{}
	}
	return f.under[cluster][key]
}

// nominate enters what a Workload will take on a cluster that it is about to be nominated to.
func (f *flights) nominate(cluster string, key types.NamespacedName, claims []placement.Claim, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.of(cluster, key)
	if !flight.counted {
		flight.until = now.Add(unstored)
		f.ledger.Set(cluster, coreKey(key), claims)
	}
}

// send notes that a copy is being made, and sentAt tells when that was begun first in the epoch, zero if it is not known.
func (f *flights) send(cluster string, key types.NamespacedName, epoch int64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.under[cluster][key] != nil
	flight := f.of(cluster, key)
	if flight.sent.IsZero() || flight.epoch != epoch {
		flight.sent, flight.epoch = now, epoch
	}
	if !known {
		flight.until = now.Add(unstored) // its Workload may have gone meanwhile
	}
}

func (f *flights) sentAt(cluster string, key types.NamespacedName, epoch int64) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if flight := f.under[cluster][key]; flight != nil && flight.epoch == epoch {
		return flight.sent
	}
	return time.Time{}
}

// offer notes that a copy was made.
func (f *flights) offer(cluster string, key types.NamespacedName, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.under[cluster][key] != nil
	flight := f.of(cluster, key)
	if flight.offered.IsZero() {
		flight.offered = now
	}
	if !known {
		flight.until = now.Add(unstored) // its Workload may have gone meanwhile
	}
}

// stored notes that the Workload is nominated or bound to the cluster, and since when the copy has quota there (by the
// cluster's clock), zero if it has none.
func (f *flights) stored(cluster string, key types.NamespacedName, reserved, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.under[cluster][key]
	if flight == nil {
		return
	}
	flight.until = time.Time{}
	if flight.reserved.IsZero() && !reserved.IsZero() {
		flight.reserved, flight.seen = reserved, now
	}
}

// only drops the Workload's flights to all clusters but the given ones.
func (f *flights) only(key types.NamespacedName, clusters ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for cluster, flying := range f.under {
		if _, ok := flying[key]; ok && !slices.Contains(clusters, cluster) {
			f.drop(cluster, key)
		}
	}
}

// ended drops the flights of a Workload that has no reservation, but not what it is about to be nominated to: that is
// stored together with its reservation, and who looks may not have seen either yet.
func (f *flights) ended(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for cluster, flying := range f.under {
		if flight, ok := flying[key]; ok && flight.until.IsZero() {
			f.drop(cluster, key)
		}
	}
}

// drop needs the lock.
func (f *flights) drop(cluster string, key types.NamespacedName) {
	f.ledger.Set(cluster, coreKey(key), nil)
	delete(f.under[cluster], key)
	if len(f.under[cluster]) == 0 {
		delete(f.under, cluster)
	}
}

// inFlight is what the Workload's rivals have under way to a cluster, whose own figures were read at the given time by its
// clock (zero: not known).
func (f *flights) inFlight(cluster string, key types.NamespacedName, report, now time.Time) []placement.Claim {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ledger == nil {
		return nil
	}
	if last := f.swept[cluster]; !last.report.Equal(report) || !now.Before(last.at.Add(sweepEvery)) {
		f.sweep(cluster, report, now)
	}
	return f.ledger.InFlight(cluster, coreKey(key))
}

// sweep takes out what the cluster counts itself by now: what got quota before its figures were read. Times of
// reservations are in whole seconds.
func (f *flights) sweep(cluster string, report, now time.Time) {
	if f.swept == nil {
		f.swept = map[string]sweepMark{}
	}
	f.swept[cluster] = sweepMark{report, now}
	for key, flight := range f.under[cluster] {
		switch {
		case !flight.until.IsZero() && !now.Before(flight.until):
			f.drop(cluster, key)
		case flight.counted || flight.reserved.IsZero():
		case !report.IsZero() && !report.Before(flight.reserved.Add(time.Second)),
			report.IsZero() && !now.Before(flight.seen.Add(uncounted)):
			flight.counted = true
			f.ledger.Set(cluster, coreKey(key), nil)
		}
	}
}

// land notes that the Workload was bound to the cluster and returns how long that took since the offer; false if that is
// not known.
func (f *flights) land(cluster string, key types.NamespacedName, now time.Time) (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.under[cluster][key]
	if flight == nil || flight.offered.IsZero() {
		return 0, false
	}
	if last := f.swept[cluster]; !now.Before(last.at.Add(unstored)) {
		f.sweep(cluster, last.report, now)
	}
	delete(f.misses, cluster)
	took := now.Sub(flight.offered)
	if f.latency == nil {
		f.latency = map[string]*latencies{}
	}
	if f.latency[cluster] == nil {
		f.latency[cluster] = &latencies{}
	}
	f.latency[cluster].add(took)
	return took, true
}

// forget drops everything about a cluster that is no more.
func (f *flights) forget(cluster string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ledger != nil {
		f.ledger.Forget(cluster)
	}
	delete(f.under, cluster)
	delete(f.swept, cluster)
	delete(f.latency, cluster)
	delete(f.misses, cluster)
}

// patienceWith is how long an offer to the clusters may wait before another is made: twice what nine in ten of the recent
// ones took at the slowest of them, within bounds.
func (f *flights) patienceWith(clusters []string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	longest := hedgeLeast
	for _, cluster := range clusters {
		longest = max(longest, f.latency[cluster].patience())
	}
	return longest
}

const (
	// hedgeLeast and hedgeMost bound the time for which an offer waits before another is made; hedgeFirst is that time while
	// little is known of a cluster.
	hedgeLeast, hedgeFirst, hedgeMost = 2 * time.Second, 5 * time.Second, 30 * time.Second
	// recent is how many offers are remembered of a cluster, and enough how many say something.
	recent, enough = 32, 8
)

// latencies are the last few times from offer to admission on one cluster.
type latencies struct {
	ring [recent]time.Duration
	n    int
}

func (l *latencies) add(d time.Duration) {
	l.ring[l.n%recent] = d
	l.n++
}

// patience may be asked of nil.
func (l *latencies) patience() time.Duration {
	if l == nil || l.n < enough {
		return hedgeFirst
	}
	return min(max(2*l.most(), hedgeLeast), hedgeMost)
}

// most is what nine in ten of them did not exceed; zero while there are none.
func (l *latencies) most() time.Duration {
	if l.n == 0 {
		return 0
	}
	times := slices.Sorted(slices.Values(l.ring[:min(l.n, recent)]))
	return times[(len(times)-1)*9/10]
}
