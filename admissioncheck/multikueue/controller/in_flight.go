package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

// inFlightOffers is what the hub has under way to the clusters: offers, from their nomination until the cluster itself counts what
// they take. It is a memory, and a guess where it is lost: a restart begins with nothing in flight.
type inFlightOffers struct {
	mu         sync.Mutex
	claims     *placement.UsageInFlight
	offers     map[string]map[types.NamespacedName]*inFlightOffer // by cluster
	lastSweeps map[string]sweepRecord
	latencies  map[string]*latencyWindow
	misses     map[string]missRecord
}

// missRecord are the offers in a row that a cluster did not admit in time, and when the last of them was seen to be one.
type missRecord struct {
	count  int
	lastAt time.Time
}

// missTTL is how long a miss is held against a cluster.
const missTTL = 5 * time.Minute

// recordMiss notes that the cluster did not admit an offer in time.
func (f *inFlightOffers) recordMiss(cluster string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.misses == nil {
		f.misses = map[string]missRecord{}
	}
	f.misses[cluster] = missRecord{count: f.misses[cluster].countSince(now) + 1, lastAt: now}
}

// countMisses counts the misses that are held against the cluster.
func (f *inFlightOffers) countMisses(cluster string, now time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.misses[cluster].countSince(now)
}

func (m missRecord) countSince(now time.Time) int {
	if now.Before(m.lastAt.Add(missTTL)) {
		return m.count
	}
	return 0
}

// inFlightOffer is one Workload on its way to one cluster.
type inFlightOffer struct {
	// sentAt is when its copy was begun to be made there, in an epoch; zero if it was not, or that is not known.
	sentAt time.Time
	epoch  int64
	// createdAt is when its copy was made there; zero if that is not known.
	createdAt time.Time
	// reservedAt is when the copy got quota, by the cluster's clock, and seen when the hub saw it; zero while it has none.
	reservedAt, reservationSeenAt time.Time
	// expiresAt is when to drop it unless the nomination has been stored by then; zero once it is.
	expiresAt time.Time
	// isCounted tells that the cluster counts it itself by now.
	isCounted bool
}

type sweepRecord struct{ reportedAt, at time.Time }

const (
	// unstoredTTL is how long a nomination counts that nobody has seen stored.
	unstoredTTL = 30 * time.Second
	// uncountedTTL is how long a reservation counts on a cluster that does not say when it has counted.
	uncountedTTL = 5 * time.Second
	// sweepInterval is how often flights are looked through although no report has come.
	sweepInterval = time.Second
)

func admissionKey(key types.NamespacedName) admission.Key {
	return admission.Key{Namespace: key.Namespace, Name: key.Name}
}

// getOrCreate returns a flight, made if need be. It needs the lock.
func (f *inFlightOffers) getOrCreate(cluster string, key types.NamespacedName) *inFlightOffer {
	if f.offers == nil {
		f.claims, f.offers = placement.NewUsageInFlight(), map[string]map[types.NamespacedName]*inFlightOffer{}
	}
	if f.offers[cluster] == nil {
		f.offers[cluster] = map[types.NamespacedName]*inFlightOffer{}
	}
	if f.offers[cluster][key] == nil {
		f.offers[cluster][key] = &inFlightOffer{}
	}
	return f.offers[cluster][key]
}

// recordNomination enters what a Workload will take on a cluster that it is about to be nominated to.
func (f *inFlightOffers) recordNomination(cluster string, key types.NamespacedName, claims []placement.Claim, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.getOrCreate(cluster, key)
	if !flight.isCounted {
		flight.expiresAt = now.Add(unstoredTTL)
		f.claims.Set(cluster, admissionKey(key), claims)
	}
}

// recordSend notes that a copy is being made, and sentAt tells when that was begun first in the epoch, zero if it is not known.
func (f *inFlightOffers) recordSend(cluster string, key types.NamespacedName, epoch int64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.offers[cluster][key] != nil
	flight := f.getOrCreate(cluster, key)
	if flight.sentAt.IsZero() || flight.epoch != epoch {
		flight.sentAt, flight.epoch = now, epoch
	}
	if !known {
		flight.expiresAt = now.Add(unstoredTTL) // its Workload may have gone meanwhile
	}
}

func (f *inFlightOffers) sentAt(cluster string, key types.NamespacedName, epoch int64) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if flight := f.offers[cluster][key]; flight != nil && flight.epoch == epoch {
		return flight.sentAt
	}
	return time.Time{}
}

// recordOffer notes that a copy was made.
func (f *inFlightOffers) recordOffer(cluster string, key types.NamespacedName, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.offers[cluster][key] != nil
	flight := f.getOrCreate(cluster, key)
	if flight.createdAt.IsZero() {
		flight.createdAt = now
	}
	if !known {
		flight.expiresAt = now.Add(unstoredTTL) // its Workload may have gone meanwhile
	}
}

// recordStored notes that the Workload is nominated or bound to the cluster, and since when the copy has quota there (by the
// cluster's clock), zero if it has none.
func (f *inFlightOffers) recordStored(cluster string, key types.NamespacedName, reserved, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.offers[cluster][key]
	if flight == nil {
		return
	}
	flight.expiresAt = time.Time{}
	if flight.reservedAt.IsZero() && !reserved.IsZero() {
		flight.reservedAt, flight.reservationSeenAt = reserved, now
	}
}

// removeExcept drops the Workload's flights to all clusters but the given ones.
func (f *inFlightOffers) removeExcept(key types.NamespacedName, clusters ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for cluster, flying := range f.offers {
		if _, ok := flying[key]; ok && !slices.Contains(clusters, cluster) {
			f.remove(cluster, key)
		}
	}
}

// removeStored drops the flights of a Workload that has no reservation, but not what it is about to be nominated to: that is
// stored together with its reservation, and who looks may not have seen either yet.
func (f *inFlightOffers) removeStored(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for cluster, flying := range f.offers {
		if flight, ok := flying[key]; ok && flight.expiresAt.IsZero() {
			f.remove(cluster, key)
		}
	}
}

// remove needs the lock.
func (f *inFlightOffers) remove(cluster string, key types.NamespacedName) {
	f.claims.Set(cluster, admissionKey(key), nil)
	delete(f.offers[cluster], key)
	if len(f.offers[cluster]) == 0 {
		delete(f.offers, cluster)
	}
}

// rivalClaims is what the Workload's rivals have under way to a cluster, whose own figures were read at the given time by its
// clock (zero: not known).
func (f *inFlightOffers) rivalClaims(cluster string, key types.NamespacedName, report, now time.Time) []placement.Claim {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.claims == nil {
		return nil
	}
	if last := f.lastSweeps[cluster]; !last.reportedAt.Equal(report) || !now.Before(last.at.Add(sweepInterval)) {
		f.expire(cluster, report, now)
	}
	return f.claims.List(cluster, admissionKey(key))
}

// expire takes out what the cluster counts itself by now: what got quota before its figures were read. Times of
// reservations are in whole seconds.
func (f *inFlightOffers) expire(cluster string, report, now time.Time) {
	if f.lastSweeps == nil {
		f.lastSweeps = map[string]sweepRecord{}
	}
	f.lastSweeps[cluster] = sweepRecord{report, now}
	for key, flight := range f.offers[cluster] {
		switch {
		case !flight.expiresAt.IsZero() && !now.Before(flight.expiresAt):
			f.remove(cluster, key)
		case flight.isCounted || flight.reservedAt.IsZero():
		case !report.IsZero() && !report.Before(flight.reservedAt.Add(time.Second)),
			report.IsZero() && !now.Before(flight.reservationSeenAt.Add(uncountedTTL)):
			flight.isCounted = true
			f.claims.Set(cluster, admissionKey(key), nil)
		}
	}
}

// recordBound notes that the Workload was bound to the cluster and returns how long that took since the offer; false if that is
// not known.
func (f *inFlightOffers) recordBound(cluster string, key types.NamespacedName, now time.Time) (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flight := f.offers[cluster][key]
	if flight == nil || flight.createdAt.IsZero() {
		return 0, false
	}
	if last := f.lastSweeps[cluster]; !now.Before(last.at.Add(unstoredTTL)) {
		f.expire(cluster, last.reportedAt, now)
	}
	delete(f.misses, cluster)
	took := now.Sub(flight.createdAt)
	if f.latencies == nil {
		f.latencies = map[string]*latencyWindow{}
	}
	if f.latencies[cluster] == nil {
		f.latencies[cluster] = &latencyWindow{}
	}
	f.latencies[cluster].add(took)
	return took, true
}

// forget drops everything about a cluster that is no more.
func (f *inFlightOffers) forget(cluster string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.claims != nil {
		f.claims.RemoveCluster(cluster)
	}
	delete(f.offers, cluster)
	delete(f.lastSweeps, cluster)
	delete(f.latencies, cluster)
	delete(f.misses, cluster)
}

// hedgeDelay is how long an offer to the clusters may wait before another is made: twice what nine in ten of the recent
// ones took at the slowest of them, within bounds.
func (f *inFlightOffers) hedgeDelay(clusters []string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	longest := minHedgeDelay
	for _, cluster := range clusters {
		longest = max(longest, f.latencies[cluster].hedgeDelay())
	}
	return longest
}

const (
	// minHedgeDelay and hedgeMost bound the time for which an offer waits before another is made; hedgeFirst is that time while
	// little is known of a cluster.
	minHedgeDelay, defaultHedgeDelay, maxHedgeDelay = 2 * time.Second, 5 * time.Second, 30 * time.Second
	// latencyWindowSize is how many offers are remembered of a cluster, and enough how many say something.
	latencyWindowSize, minLatencySamples = 32, 8
)

// latencyWindow are the last few times from offer to admission on one cluster.
type latencyWindow struct {
	samples [latencyWindowSize]time.Duration
	count   int
}

func (l *latencyWindow) add(d time.Duration) {
	l.samples[l.count%latencyWindowSize] = d
	l.count++
}

// hedgeDelay may be asked of nil.
func (l *latencyWindow) hedgeDelay() time.Duration {
	if l == nil || l.count < minLatencySamples {
		return defaultHedgeDelay
	}
	return min(max(2*l.percentile90(), minHedgeDelay), maxHedgeDelay)
}

// percentile90 is what nine in ten of them did not exceed; zero while there are none.
func (l *latencyWindow) percentile90() time.Duration {
	if l.count == 0 {
		return 0
	}
	times := slices.Sorted(slices.Values(l.samples[:min(l.count, latencyWindowSize)]))
	return times[(len(times)-1)*9/10]
}
