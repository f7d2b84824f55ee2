package sim

import "slices"

// What the invariants know of slices: the runs of those that have taken over from each other are one Workload's, and one of them has the job.

// attempt is an epoch of a Workload, and of those from which it has taken over.
func (l *history) attempt(uid, epoch int64) attempt { return attempt{l.root(uid), epoch} }

// root is the first of the slices from which one has taken over; any other Workload is its own.
func (l *history) root(uid int64) int64 {
	if first, later := l.roots[uid]; later {
		return first
	}
	return uid
}

// resultsOfChain are the runs that have ended of a Workload and, of a slice, of those that it and they were made to replace: a cluster shows of a job
// whose slices have it, also if one was deleted before another had taken it over.
func (l *history) resultsOfChain(uid int64) []runResult {
	all := slices.Clone(l.results[l.root(uid)])
	for older := l.replaced[uid]; older != 0; older = l.replaced[older] {
		all = append(all, l.results[l.root(older)]...)
	}
	return all
}

// joinRuns notes that a slice has taken over from another.
func (l *history) joinRuns(before, next workload) { l.roots[next.uid] = l.root(before.uid) }

// sameRun reports whether two Workloads are one for the runs of their job.
func (l *history) sameRun(a, b int64) bool { return a == b || l.root(a) == l.root(b) }

func (l *history) isRecordLost(uid int64) bool { return l.recordsLost[l.root(uid)] }

// sliceWithJob is the slice that has the job of which one is a slice, in truth.
func (w *hubCluster) sliceWithJob(of workload) (workload, bool) {
	all := w.hub.slicesOf(jobOf(of.name))
	var found workload
	for _, item := range all {
		if item.ownsJob() && w.hasJobNow(item) {
			found = item // the newest: those without quota and record have no job, whatever they are
			if item.quota || item.isRecorded() {
				break
			}
		}
	}
	return found, found.name != ""
}

// hasJobNow reports whether a slice has the job, in truth.
func (w *hubCluster) hasJobNow(item workload) bool {
	others := w.kubeSlices(w.hub.slicesOf(jobOf(item.name)), item)
	return !w.parts.Slice(w.kubeSlice(item), others).Passive
}
