package dispatch

// cleanUp removes whatever is seen of a Workload that is no more or has finished (contract: multikueue.md 4 P6, case 2).
// Clusters out of reach are cleaned when they return: their events, or the orphan sweep, ask again.
func (t turn) cleanUp(because Reason) Plan {
	return t.stay(because, "removing what is left on the workers", t.retractAll(func(ClusterView) bool { return false })...)
}

// withoutQuota is the same for a Workload that waits for the hub's quota. A binding or nomination that the core left
// standing is turned into a retreat first, so that it cannot be mistaken for one of the next reservation.
func (t turn) withoutQuota() Plan {
	next := t.s
	if next.Bound != "" && !next.Retreating() || len(next.Nominated) > 0 {
		next = next.retreat(t.nextEpoch())
	}
	next.Bound = ""
	if !next.Equal(t.s) {
		return t.move(next, NoQuota, "the quota reservation ended")
	}
	return t.stay(NoQuota, "waiting for quota on the hub", t.retractAll(t.counts)...)
}

// retractAll removes everything of ours, of whatever epoch, from every cluster that can be talked to.
func (t turn) retractAll(spare func(ClusterView) bool) []Action {
	var actions []Action
	for _, v := range t.o.Clusters {
		if v.connected() && v.removable() {
			for _, a := range t.withdraw(v) {
				a.Spare = spare(v)
				actions = append(actions, a)
			}
		}
	}
	return actions
}

// refuse rejects a Workload whose owner cannot be dispatched (contract: multikueue.md 4 P3 and P4).
func (t turn) refuse() Plan {
	r := t.o.Local.Refusal
	message := `The owner is not managed by Kueue: ` + r.Detail
	switch {
	case r.Reason == NoAdapter && r.Detail != "":
		message = `No multikueue adapter found for owner kind "` + r.Detail + `"`
	case r.Reason == NoAdapter:
		message = `No multikueue adapter found`
	}
	next := t.s
	if next.Bound != "" && !next.Retreating() {
		next = next.retreat(t.nextEpoch())
	}
	return Plan{Next: next, Verdict: Verdict{Check: Rejected, Message: t.previously(message)}, Because: r.Reason, Message: message}
}
