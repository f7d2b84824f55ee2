package tracker

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

const (
	// minHedgeDelay and maxHedgeDelay bound how long an offer waits before another is made; defaultHedgeDelay is that time while
	// little is known of a cluster.
	minHedgeDelay, defaultHedgeDelay, maxHedgeDelay = 2 * time.Second, 5 * time.Second, 30 * time.Second
	// latencyWindowSize is how many offers are remembered of a cluster; minLatencySamples how many say something.
	latencyWindowSize, minLatencySamples = 32, 8
	// missTTL is how long a miss is held against a cluster.
	missTTL = 5 * time.Minute
	// minFinishDelay and maxFinishDelay bound how long the hub's job controller has to record an end. As a rule it takes
	// milliseconds; when many jobs end at once the last ones wait for seconds, and a write of ours would meet its.
	minFinishDelay, maxFinishDelay = 2 * time.Second, 30 * time.Second
	// finishFactor is how many times what nine in ten of the last ends took the next one may take.
	finishFactor = 4
)

// latencyWindow is the last few durations of something. The zero value has none.
type latencyWindow struct {
	samples [latencyWindowSize]time.Duration
	// count is how many were ever added.
	count int
}

// add adds a duration, in place of the oldest one if the window is full.
func (l *latencyWindow) add(d time.Duration) {
	l.samples[l.count%latencyWindowSize] = d
	l.count++
}

// percentile90 is what nine in ten did not exceed; zero while there are none.
func (l *latencyWindow) percentile90() time.Duration {
	if l.count == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.samples[:min(l.count, latencyWindowSize)]))
	return sorted[(len(sorted)-1)*9/10]
}

// missRecord is how many offers in a row a cluster has not admitted in time, and when the last of them was seen to be one.
type missRecord struct {
	count  int
	lastAt time.Time
}

// countSince returns the count, or 0 once missTTL has passed since the last miss.
func (m missRecord) countSince(now time.Time) int {
	if now.Before(m.lastAt.Add(missTTL)) {
		return m.count
	}
	return 0
}

// Misses counts the offers in a row that a cluster has not admitted in time, as far as they are held against it still.
func (t *Tracker) Misses(cluster string, now time.Time) int {
	return t.lookupCluster(cluster).misses.countSince(now)
}

// HedgeDelay is how long an offer to the clusters may wait before another is made: twice what nine in ten of the recent offers
// took at the slowest of them, within bounds.
func (t *Tracker) HedgeDelay(clusters []string) time.Duration {
	longest := minHedgeDelay
	for _, name := range clusters {
		longest = max(longest, t.lookupCluster(name).latencies.hedgeDelay())
	}
	return longest
}

// hedgeDelay returns how long an offer to the cluster may wait before another is made, within bounds.
func (l *latencyWindow) hedgeDelay() time.Duration {
	if l.count < minLatencySamples {
		return defaultHedgeDelay
	}
	return min(max(2*l.percentile90(), minHedgeDelay), maxHedgeDelay)
}

// Bound records that a plan was stored that binds a Workload to a cluster. It returns how long that took since the copy was
// made; false if that is not known, or nothing was bound. Where placement ranks clusters, those that had the offer before the
// winner and did not answer have missed it.
func (t *Tracker) Bound(w Workload, s dispatch.State, o dispatch.Observation, p dispatch.Policy, plan dispatch.Plan) (took time.Duration, ok bool) {
	winner, known := plan.Next.Bound, t.lookup(w)
	if winner == "" || s.Bound != "" || known == nil {
		return 0, false
	}
	for i := range o.Clusters {
		if v := &o.Clusters[i]; p.Dispatcher == dispatch.BestFit && known.hasMissed(s, v, winner) {
			c := t.cluster(v.Name)
			c.misses = missRecord{count: c.misses.countSince(o.Now) + 1, lastAt: o.Now}
		}
	}
	of := known.offers[winner]
	if of == nil || of.createdAt.IsZero() {
		return 0, false
	}
	c := t.cluster(winner)
	took, c.misses = o.Now.Sub(of.createdAt), missRecord{}
	c.latencies.add(took)
	return took, true
}

// hasMissed reports whether a cluster said nothing to an offer that it had before the winner. A refusal is an answer, and one
// about this Workload alone.
func (s *workloadState) hasMissed(state dispatch.State, v *dispatch.ClusterView, winner string) bool {
	if v.Name == winner || !slices.Contains(state.Nominated, v.Name) || state.HasRefused(*v) {
		return false
	}
	sent, first := s.sentAt(v.Name, state.Epoch), s.sentAt(winner, state.Epoch)
	return !sent.IsZero() && sent.Before(first)
}

// sentAt returns when the offer of an epoch to a cluster was begun; zero for never.
func (s *workloadState) sentAt(cluster string, epoch int64) time.Time {
	if of := s.offers[cluster]; of != nil && of.epoch == epoch {
		return of.sentAt
	}
	return time.Time{}
}
