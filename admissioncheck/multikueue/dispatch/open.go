package dispatch

import (
	"cmp"
	"strconv"
	"time"
)

// open handles a Workload without a winner (contract: multikueue.md 4 cases 6b and 8), in this order: an epoch is begun for the
// reservation; otherwise debts are settled, and the first cluster that has admitted the Workload is bound; what forbids offers is
// waited for; clusters are nominated; and each gets its offer. All that changes the State goes into one write.
func (t decision) open() Plan {
	if t.observed.Local.Check.State == Ready {
		return t.giveUpUnrecorded()
	}
	next, change := t.beginEpoch()
	if change == "" {
		if settled, ok := t.debts.settle(next); ok {
			next, change = settled, Settled
		}
		if winner, ok := t.nominator.winner(); ok && t.lost.indefiniteDebt(next) == "" {
			return t.bindWinner(next, winner)
		}
	}
	switch reason, message := t.whyNotOffered(); {
	case reason == SiblingWait:
		return t.awaitSibling(next, change, message)
	case reason != "" && len(next.Nominated) == 0 && change != "":
		return t.planner.store(next, change, message)
	case reason != "" && len(next.Nominated) == 0:
		return t.planner.act(reason, message, t.actions.cleanOthers()...)
	}
	return t.updateOffers(next, change)
}

// giveUpUnrecorded gives up a reservation whose check is Ready although no cluster is recorded: one of them may run the job.
func (t decision) giveUpUnrecorded() Plan {
	plan := t.giveUp(NoRecord, msgNoRecord, nil)
	plan.Next = t.record.suspectAll(plan.Next)
	return plan
}

// bindWinner binds the winner, once no debt forbids a new job. The change of next that is not stored yet goes with it.
func (t decision) bindWinner(next State, winner string) Plan {
	if owing, wake := t.debts.blockers(next); len(owing) > 0 {
		return t.storeOrOffer(next, Owed, t.debts.msgOwed(owing), wake)
	}
	return t.bind(next, winner)
}

// awaitSibling offers the Workload to no cluster before the first of its siblings is bound. Offers are taken back, but not those
// of an external dispatcher. The change is why next is not stored yet, empty if it is.
func (t decision) awaitSibling(next State, change Reason, message string) Plan {
	switch {
	case len(next.Nominated) > 0 && t.policy.Dispatcher == External:
		return t.storeOrOffer(next, cmp.Or(change, SiblingWait), message, time.Time{})
	case len(next.Nominated) > 0:
		next.Nominated, next.Round, change = nil, time.Time{}, cmp.Or(change, SiblingWait)
	}
	if change != "" {
		return t.planner.store(next, change, message)
	}
	plan := t.planner.act(SiblingWait, message, t.actions.cleanOthers()...)
	t.explainer.reportWaiting(&plan)
	return plan
}

// bind stores the winner and says Ready in the same write, before the job is made: that may only be done on the cluster that is
// bound, and a write between the two would tell clients nothing. Whether the job ever came into being is not to be read from
// Ready, but from the copy: nothing runs there before a job has adopted it.
func (t decision) bind(next State, winner string) Plan {
	next.Bound, next.Nominated, next.Round = winner, nil, time.Time{}
	next.StopsOnHubLost = t.observed.view(winner).Copy.StopsOnHubLost
	return t.planner.storeReady(next, winner, Won, winner+" admitted the workload first")
}

// whyNotOffered returns why nothing may be offered to any cluster yet, empty if it may.
func (t decision) whyNotOffered() (because Reason, message string) {
	switch {
	case !t.observed.Local.Check.OthersReady:
		return WaitingForChecks, "waiting for the other checks"
	case t.observed.Local.Siblings.Awaited:
		return SiblingWait, "waiting for the other workloads of the same owner"
	}
	return "", ""
}

// beginEpoch settles which epoch the present reservation uses. If the record shows one that an earlier reservation used, or
// shows none although the Workload was evicted before, or something newer than the record is seen, then an epoch ended
// without having been recorded, or the record was lost: a new one is begun, and every cluster suspected.
func (t decision) beginEpoch() (State, Reason) {
	s, l := *t.state, t.observed.Local
	if t.record.isLost() {
		s.Epoch, s.Reservation, s.Round = t.record.nextEpoch(), l.Quota.Reservation, time.Time{}
		s = t.record.suspectAll(s)
		if t.policy.Dispatcher == Incremental || t.policy.Dispatcher == BestFit {
			s.Nominated = nil
		}
		return s, RecordLost
	}
	s = t.debts.inheritFromPredecessors(s)
	if s.Epoch > 1 && s.Reservation != l.Quota.Reservation {
		s.Reservation, s.Round = l.Quota.Reservation, time.Time{}
		return s, Opened
	}
	if !s.Equal(*t.state) {
		return s, Owed
	}
	return s, ""
}

// updateOffers nominates clusters and keeps their copies as they should be.
func (t decision) updateOffers(next State, because Reason) Plan {
	n := t.nominator.nominate(next)
	if !n.state.Equal(next) && because == "" {
		because = cmp.Or(t.lost.indefiniteDebt(next), Nominated)
	}
	next = n.state
	if !next.Equal(*t.state) {
		return t.planner.storeOffer(next, because, "offering to "+joinNames(next.Nominated))
	}
	switch stuck := t.lost.indefiniteDebt(next); {
	case stuck != "":
		owing, wake := t.debts.blockers(next)
		return t.storeOrOffer(next, stuck, t.debts.msgOwed(owing), wake)
	case len(t.state.Nominated) == 0 && t.observed.Local.Siblings.Pin != "":
		return t.storeOrOffer(next, NoCluster, `assigned worker cluster `+strconv.Quote(t.observed.Local.Siblings.Pin)+` is not available`, time.Time{})
	case len(t.state.Nominated) == 0:
		return t.storeOrOffer(next, NoCluster, "no cluster can be offered the workload", time.Time{})
	}
	message := "waiting for a cluster to admit the workload"
	if n.exhausted {
		message += "; no more workers to nominate"
	}
	plan := t.storeOrOffer(next, Offered, message, n.wakeAt)
	t.gates.openNextGate(&plan)
	return plan
}

// storeOrOffer stores next if it differs, and otherwise tends the offers; after a while it says why nothing happens.
func (t decision) storeOrOffer(next State, because Reason, message string, wake time.Time) Plan {
	if !next.Equal(*t.state) {
		return t.planner.store(next, because, message)
	}
	plan := t.planner.act(because, message, t.actions.offerActions()...)
	plan.WakeAt = wake
	t.explainer.reportWaiting(&plan)
	return plan
}
