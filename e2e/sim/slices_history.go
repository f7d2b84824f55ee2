package sim

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
