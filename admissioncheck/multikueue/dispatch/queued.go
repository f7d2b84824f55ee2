package dispatch

// queued handles a Workload that waits for the hub's quota: whatever is seen of it is removed. A binding or nomination that the
// hub left standing is turned into a retreat first, so that it cannot be mistaken for one of the next reservation. What is seen
// of a predecessor on a cluster out of reach is stored as well: a hub that starts anew sees nothing of it.
func (t decision) queued() Plan {
	next := *t.state
	if next.Bound != "" && !next.Retreating() || len(next.Nominated) > 0 {
		next = next.retreat(t.record.nextEpoch())
	}
	next.Bound = ""
	next = t.creditUnrecordedRun(next)
	if next = t.debts.inheritFromPredecessors(next); !next.Equal(*t.state) {
		return t.planner.store(next, NoQuota, "the quota reservation ended, or an earlier owner of the name may still run")
	}
	return t.planner.act(NoQuota, "waiting for quota on the hub", t.actions.removeEverywhere(true)...)
}

// creditUnrecordedRun adds a debt of each cluster that shows how an unrecorded run ended, so that its result counts. Such a run
// was of an epoch that was over before its retreat was stored, as the hub's own counters or reservations tell. The cluster that
// was bound then is not known. It returns s itself if the record tells that there was no such epoch.
func (t decision) creditUnrecordedRun(s State) State {
	if s.Reservation == "" && (s.Epoch > 1 || t.observed.Local.Quota.Evictions == 0) {
		return s
	}
	epoch := t.record.nextEpoch()
	for _, v := range t.observed.Clusters {
		tells := t.results.tellsEnd(v.Copy, v.Job)
		if live := t.state.liveAnswer(v); live != nil {
			tells = tells || t.results.tellsEnd(live.Copy, live.Job)
		}
		if t.results.countsOn(v) && !s.hasDebt(v.Name) && tells {
			s.Epoch, s.Reservation = epoch, ""
			s = s.withDebt(Debt{Cluster: v.Name, Epoch: epoch - 1})
		}
	}
	return s
}
