package dispatch

// queued handles a Workload that waits for the hub's quota: whatever is seen of it is removed. A binding or nomination that the
// hub left standing is turned into a retreat first, so that it cannot be mistaken for one of the next reservation. What is seen of a
// predecessor on a cluster out of reach is stored as well: a hub that starts anew sees nothing of it.
func (t decision) queued() Plan {
	next := t.state
	if next.Bound != "" && !next.Retreating() || len(next.Nominated) > 0 {
		next = next.retreat(t.nextEpoch())
	}
	next.Bound = ""
	next = t.creditUnrecordedRun(next)
	if next = t.inheritPredecessorDebts(next); !next.Equal(t.state) {
		return t.store(next, NoQuota, "the quota reservation ended, or an earlier owner of the name may still run")
	}
	return t.act(NoQuota, "waiting for quota on the hub", t.removeEverywhere(t.mustSpareFinished)...)
}
