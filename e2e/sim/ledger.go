package sim

import (
	"maps"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// ledger remembers what the invariants need to know of the past. It sees the truth, not what the hub sees.
type ledger struct {
	violation string
	// created says where an epoch's job was created; apart lists the clusters that held an older job of the Workload
	// then, but had been out of reach for longer than the grace: the overlap that the compatible policy allows.
	created map[attempt]string
	apart   map[attempt][]string
	// epochs is the highest epoch stored.
	epochs map[int64]int64
	// results are the runs that have ended.
	results map[int64][]result
	// widened is when clusters were nominated for a Workload last, if that is done in rounds.
	widened map[int64]time.Time
	// sent is when each cluster was begun to be sent the offer of an attempt.
	sent map[attempt]map[string]time.Time
	// trouble is when anything was wrong last with a bound copy or its job.
	trouble map[int64]time.Time
	// pinned is when Workloads were last kept where a sibling is.
	pinned map[int64]time.Time
	// forgotten are Workloads whose epochs may be used again, because the record was lost: debts still keep their jobs apart.
	forgotten map[int64]bool
	// ran are the attempts whose job has begun to run.
	ran map[attempt]bool
	// promised are the attempts made under a policy that promises that runs never overlap, and that promise.
	promised map[attempt]string
	// jobs says which job of the hub each Workload was made for; acquitted are the clusters that were not waited for any more, as
	// the policy allows, when a Workload of a job was let go.
	jobs      map[int64]int64
	acquitted map[place]bool
	// checks counts by law how often it was put to the test, and reached what has happened.
	checks  map[string]int
	reached map[Event]int
}

// attempt is one epoch of one Workload.
type attempt struct{ uid, epoch int64 }

// place is where a job of the hub may run.
type place struct {
	job     int64
	cluster string
}

// result is a run that ended; counted is set if its cluster was bound in that epoch at that time, and the hub has not given
// the run up or evicted the Workload since.
type result struct {
	cluster string
	counted bool
	at      time.Time
}

// answerAge is how old an answer may be on which a run is given up; a run may end meanwhile.
const answerAge = 10 * time.Second

func newLedger() *ledger {
	return &ledger{
		created: map[attempt]string{}, apart: map[attempt][]string{}, epochs: map[int64]int64{},
		results: map[int64][]result{}, widened: map[int64]time.Time{}, trouble: map[int64]time.Time{},
		sent: map[attempt]map[string]time.Time{}, forgotten: map[int64]bool{}, pinned: map[int64]time.Time{}, ran: map[attempt]bool{}, promised: map[attempt]string{},
		jobs: map[int64]int64{}, acquitted: map[place]bool{},
		checks: map[string]int{}, reached: map[Event]int{},
	}
}

// same reports whether two objects were made for one job of the hub, if for different Workloads of it.
func (l *ledger) same(a, b owner) bool { return a.ours && b.ours && l.jobs[a.uid] == l.jobs[b.uid] }

// resultsOf are the runs of a job of the hub that have ended.
func (l *ledger) resultsOf(job int64) []result {
	var all []result
	for _, uid := range slices.Sorted(maps.Keys(l.results)) {
		if l.jobs[uid] == job {
			all = append(all, l.results[uid]...)
		}
	}
	return all
}

// holds reports whether a cluster is bound to a Workload and not given up, as stored.
func holds(item workload, cluster string) bool {
	return item.bound == cluster && !item.state().Retreating()
}

// ended records a run that came to its end.
func (l *ledger) ended(w *World, c *worker, name string, job remoteJob) {
	item := w.hub.items[name]
	mine := item.uid == job.uid && item.state().Epoch == job.epoch
	seen := job.lost == nothing // what has lost its marks is not shown to the hub
	counted := mine && seen && holds(item, c.name) && !item.evicted && !item.deleting && item.check != dispatch.Retry
	l.results[job.uid] = append(l.results[job.uid], result{cluster: c.name, counted: counted, at: w.now})
	if item.uid == job.uid && item.bound != "" && !holds(item, c.name) && item.state().Epoch > job.epoch {
		w.reach(LateResults)
	}
}

// excuse takes back that results from some time on count: they could not be known, or the hub itself has evicted since.
func (l *ledger) excuse(uid int64, from time.Time) {
	for i, r := range l.results[uid] {
		if !r.at.Before(from) {
			l.results[uid][i].counted = false
		}
	}
}

// burnt takes back what ended on a cluster that is no more: nobody can know.
func (l *ledger) burnt(c *worker) {
	for uid := range l.results {
		for i, r := range l.results[uid] {
			if r.cluster == c.name {
				l.results[uid][i].counted = false
			}
		}
	}
}

// sending notes when an offer is begun to be made first.
func (l *ledger) sending(key attempt, cluster string, now time.Time) {
	if l.sent[key] == nil {
		l.sent[key] = map[string]time.Time{}
	}
	if _, known := l.sent[key][cluster]; !known {
		l.sent[key][cluster] = now
	}
}

func clusterView(o dispatch.Observation, name string) dispatch.ClusterView {
	for _, v := range o.Clusters {
		if v.Name == name {
			return v
		}
	}
	return dispatch.ClusterView{}
}

// owed reports whether a State names a cluster among the debtors.
func owed(s dispatch.State, cluster string) bool {
	return slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == cluster })
}
