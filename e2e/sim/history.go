package sim

import (
	"maps"
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// history remembers what the invariants need to know of the past. It sees the truth, not what the hub sees.
type history struct {
	*checkLog
	// createdOn says where an epoch's job was created; apart lists the clusters that held an older job of the Workload
	// then, but had been out of reach for longer than the grace: the overlap that the compatible policy allows.
	createdOn       map[attempt]string
	allowedOverlaps map[attempt][]string
	// epochs is the highest epoch stored.
	epochs map[int64]int64
	// results are the runs that have ended.
	results map[int64][]runResult
	// rounds is what is remembered of nominations.
	rounds *roundHistory
	// lastTrouble is when anything was wrong last with a bound copy or its job.
	lastTrouble map[int64]time.Time
	// lastPinned is when Workloads were last kept where a sibling is.
	lastPinned map[int64]time.Time
	// recordsLost are Workloads whose epochs may be used again, because the record was lost: debts still keep their jobs apart.
	recordsLost map[int64]bool
	// started are the attempts whose job has begun to run.
	started map[attempt]bool
	// promises are the attempts made under a policy that promises that runs never overlap, and that promise.
	promises map[attempt]string
	// jobOf says which job of the hub each Workload was made for; excused are the clusters that were not waited for any more, as
	// the policy allows, when a Workload of a job was let go; unawaited are those of each deleted Workload.
	jobOf     map[int64]int64
	unawaited map[int64][]string
	// roots is, of each slice that has taken over, the first one of those that had the job: their runs are one Workload's.
	// replaced is, of each slice that was made to replace another, that one.
	roots, replaced map[int64]int64
	excused         map[jobCluster]bool
}

// attempt is one epoch of one Workload.
type attempt struct{ uid, epoch int64 }

// jobCluster is where a job of the hub may run.
type jobCluster struct {
	job     int64
	cluster string
}

// runResult is a run that ended; counted is set if its cluster was bound in that epoch at that time, and the hub has not given
// the run up or evicted the Workload since.
type runResult struct {
	cluster string
	counted bool
	endedAt time.Time
}

// maxLiveReadAge is how old an answer may be on which a run is given up; a run may end meanwhile.
const maxLiveReadAge = 10 * time.Second

func newHistory(s *scene) *history {
	return &history{
		checkLog:  &checkLog{scene: s, checkCounts: map[string]int{}, eventCounts: map[Event]int{}},
		createdOn: map[attempt]string{}, allowedOverlaps: map[attempt][]string{}, epochs: map[int64]int64{},
		results: map[int64][]runResult{}, lastTrouble: map[int64]time.Time{},
		rounds:      &roundHistory{lastNominated: map[int64]time.Time{}, offersSent: map[attempt]map[string]time.Time{}},
		recordsLost: map[int64]bool{}, lastPinned: map[int64]time.Time{}, started: map[attempt]bool{}, promises: map[attempt]string{},
		jobOf: map[int64]int64{}, roots: map[int64]int64{}, replaced: map[int64]int64{}, excused: map[jobCluster]bool{}, unawaited: map[int64][]string{},
	}
}

// sameJob reports whether two objects were made for one job of the hub, if for different Workloads of it.
func (l *history) sameJob(a, b owner) bool {
	return a.ours && b.ours && l.jobOf[a.uid] == l.jobOf[b.uid]
}

// resultsOf are the runs of a job of the hub that have ended.
func (l *history) resultsOf(job int64) []runResult {
	var all []runResult
	for _, uid := range slices.Sorted(maps.Keys(l.results)) {
		if l.jobOf[uid] == job {
			all = append(all, l.results[uid]...)
		}
	}
	return all
}

// isBoundTo reports whether a cluster is bound to a Workload and not given up, as stored.
func isBoundTo(item workload, cluster string) bool {
	return item.bound == cluster && !item.state().Retreating()
}

// recordEnd records a run that came to its end.
func (l *history) recordEnd(w *workerClusters, c *worker, name string, job remoteJob) {
	item := w.hub.workloads[name]
	if job.elastic {
		item, _ = w.sliceWithJob(workload{name: name})
	}
	mine := l.sameRun(item.uid, job.uid) && item.state().Epoch == job.epoch
	seen := job.lostMarks == lostNone // what has lost its marks is not shown to the hub
	counted := mine && seen && isBoundTo(item, c.name) && !item.evicted && !item.deleting && item.check != dispatch.Retry
	counted = counted && !w.isGivenUp(c, name, job)
	l.results[l.root(job.uid)] = append(l.results[l.root(job.uid)], runResult{cluster: c.name, counted: counted, endedAt: w.now})
	if l.sameRun(item.uid, job.uid) && item.bound != "" && !isBoundTo(item, c.name) && item.state().Epoch > job.epoch {
		w.recordEvent(LateResults)
	}
}

// excuseResults takes back that results from some time on count: they could not be known, or the hub itself has evicted since.
func (l *history) excuseResults(uid int64, from time.Time) {
	for i, r := range l.results[l.root(uid)] {
		if !r.endedAt.Before(from) {
			l.results[l.root(uid)][i].counted = false
		}
	}
}

// excuseCluster takes back what ended on a cluster that is no more: the hub cannot know it.
func (l *history) excuseCluster(c *worker) {
	for uid := range l.results {
		for i, r := range l.results[uid] {
			if r.cluster == c.name {
				l.results[uid][i].counted = false
			}
		}
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

// isDebtor reports whether a State names a cluster among the debtors.
func isDebtor(s dispatch.State, cluster string) bool {
	return slices.ContainsFunc(s.Debts, func(d dispatch.Debt) bool { return d.Cluster == cluster })
}
