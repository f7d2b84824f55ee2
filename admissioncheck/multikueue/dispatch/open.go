package dispatch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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
		if settled, ok := t.settleDebts(next); ok {
			next, change = settled, Settled
		}
		if winner, ok := t.winner(); ok && t.indefiniteDebt(next) == "" {
			return t.bindWinner(next, winner)
		}
	}
	switch reason, message := t.whyNotOffered(); {
	case reason == SiblingWait:
		return t.awaitSibling(next, change, message)
	case reason != "" && len(next.Nominated) == 0 && change != "":
		return t.store(next, change, message)
	case reason != "" && len(next.Nominated) == 0:
		return t.act(reason, message, t.cleanOthers()...)
	}
	return t.updateOffers(next, change)
}

// giveUpUnrecorded gives up a reservation whose check is Ready although no cluster is recorded: one of them may run the job.
func (t decision) giveUpUnrecorded() Plan {
	plan := t.giveUp(NoRecord, msgNoRecord, nil)
	plan.Next = t.suspectAll(plan.Next)
	return plan
}

// bindWinner binds the winner, once no debt forbids a new job. The change of next that is not stored yet goes with it.
func (t decision) bindWinner(next State, winner string) Plan {
	if owing, wake := t.blockers(next); len(owing) > 0 {
		return t.storeOrOffer(next, Owed, t.msgOwed(owing), wake)
	}
	return t.bind(next, winner)
}

// awaitSibling offers the Workload to no cluster before the first of its siblings is bound. Offers are taken back, but not those of
// an external dispatcher. The change is why next is not stored yet, empty if it is.
func (t decision) awaitSibling(next State, change Reason, message string) Plan {
	switch {
	case len(next.Nominated) > 0 && t.policy.Dispatcher == External:
		return t.storeOrOffer(next, cmp.Or(change, SiblingWait), message, time.Time{})
	case len(next.Nominated) > 0:
		next.Nominated, next.Round, change = nil, time.Time{}, cmp.Or(change, SiblingWait)
	}
	if change != "" {
		return t.store(next, change, message)
	}
	plan := t.act(SiblingWait, message, t.cleanOthers()...)
	t.reportWaiting(&plan)
	return plan
}

// bind stores the winner and says Ready in the same write, before the job is made: that may only be done where we are bound,
// and a write between the two would tell nobody anything. Whether the job ever came into being is not to be read from Ready,
// but from the copy: nothing runs there before a job has adopted it.
func (t decision) bind(next State, winner string) Plan {
	next.Bound, next.Nominated, next.Round = winner, nil, time.Time{}
	next.StopsOnHubLost = t.view(winner).Copy.StopsOnHubLost
	return t.storeReady(next, winner, Won, winner+" admitted the workload first")
}

// storeReady is the Plan that stores the State and makes the check say that the cluster has admitted the workload.
func (t decision) storeReady(next State, cluster string, reason Reason, message string) Plan {
	plan := t.storeCheck(next, Ready, reason, message)
	plan.CheckResult.Message = msgAdmitted(cluster)
	if t.observed.Local.Check.State != Ready {
		plan.Event = &Event{Message: plan.CheckResult.Message}
	}
	return plan
}

// whyNotOffered returns why nothing may be offered to anybody yet, empty if it may.
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
	s, l := t.state, t.observed.Local
	if t.recordLost() {
		s.Epoch, s.Reservation, s.Round = t.nextEpoch(), l.Quota.Reservation, time.Time{}
		s = t.suspectAll(s)
		if t.policy.Dispatcher == Incremental || t.policy.Dispatcher == BestFit {
			s.Nominated = nil
		}
		return s, RecordLost
	}
	s = t.inheritPredecessorDebts(s)
	if s.Epoch > 1 && s.Reservation != l.Quota.Reservation {
		s.Reservation, s.Round = l.Quota.Reservation, time.Time{}
		return s, Opened
	}
	if !s.Equal(t.state) {
		return s, Owed
	}
	return s, ""
}

// inheritPredecessorDebts adds a debt of every cluster out of reach where a predecessor's job was seen last, or may have been made since: it
// runs under the same name, and possibly for the very same job.
func (t decision) inheritPredecessorDebts(s State) State {
	for _, v := range t.observed.Clusters {
		c, j := v.Copy, v.Job
		running := j.Holder == Predecessor && j.Finished == nil ||
			c.Holder == Predecessor && (c.Admitted || c.Adopted) && c.Finished == nil && j.Finished == nil
		if !v.connected() && running && !t.isDeclaredGone(v) && !s.hasDebt(v.Name) {
			s = s.withDebt(Debt{Cluster: v.Name, Epoch: s.Epoch - 1, StopsOnHubLost: c.StopsOnHubLost})
		}
	}
	return s
}

// blockers returns the clusters that may still run an earlier epoch's job and so forbid a new one, and when the first
// of them may cease to on its own. A cluster out of reach ceases to when the policy says (see hold); one in reach, never.
func (t decision) blockers(s State) (names []string, wake time.Time) {
	for _, d := range s.Debts {
		v := t.view(d.Cluster)
		if !v.connected() {
			h := t.hold(v, d.StopsOnHubLost)
			if h.over {
				continue
			}
			wake = earliest(wake, h.until)
		}
		names = append(names, d.Cluster)
	}
	for _, v := range t.observed.Clusters {
		if v.connected() && !s.hasDebt(v.Name) && t.hasStale(v) && t.hasStaleJob(v) {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names, wake
}

// hasStaleJob reports whether a job of an earlier epoch or owner is seen.
func (t decision) hasStaleJob(v ClusterView) bool {
	if live := t.liveAnswer(v); live != nil {
		return t.state.isStaleJob(live.Job)
	}
	return t.state.isStaleJob(v.Job)
}

// winner returns the nominated cluster that admitted first; equal times are broken by name.
func (t decision) winner() (string, bool) {
	var best *ClusterView
	for i := range t.observed.Clusters {
		v := &t.observed.Clusters[i]
		if !t.mayWin(*v) {
			continue
		}
		if best == nil || v.Copy.AdmittedAt.Before(best.Copy.AdmittedAt) ||
			v.Copy.AdmittedAt.Equal(best.Copy.AdmittedAt) && strings.Compare(v.Name, best.Name) < 0 {
			best = v
		}
	}
	if best == nil {
		return "", false
	}
	return best.Name, true
}

func (t decision) mayWin(v ClusterView) bool {
	c := v.Copy
	return slices.Contains(t.state.Nominated, v.Name) && t.ineligibleReason(v) == "" && v.connected() && !v.hasCollision() && t.state.isCurrentCopy(c) &&
		c.Admitted && !c.Evicted && !c.Deactivating && !c.Deleting && c.Finished == nil && (c.SpecMatches || c.OnlyPriorityDiffers)
}

// updateOffers nominates clusters and keeps their copies as they should be.
func (t decision) updateOffers(next State, because Reason) Plan {
	n := t.nominate(next)
	if !n.state.Equal(next) && because == "" {
		because = cmp.Or(t.indefiniteDebt(next), Nominated)
	}
	next = n.state
	if !next.Equal(t.state) {
		return t.store(next, because, "offering to "+joinNames(next.Nominated))
	}
	switch stuck := t.indefiniteDebt(next); {
	case stuck != "":
		owing, wake := t.blockers(next)
		return t.storeOrOffer(next, stuck, t.msgOwed(owing), wake)
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
	t.openNextGate(&plan)
	return plan
}

// storeOrOffer stores next if it differs, and otherwise tends the offers; after a while it says why nothing happens.
func (t decision) storeOrOffer(next State, because Reason, message string, wake time.Time) Plan {
	if !next.Equal(t.state) {
		return t.store(next, because, message)
	}
	plan := t.act(because, message, t.offerActions()...)
	plan.WakeAt = wake
	t.reportWaiting(&plan)
	return plan
}

// offerActions returns what the clusters need so that each nominated one has exactly one offer of this epoch and the others
// have nothing.
func (t decision) offerActions() []Action {
	var removals, others []Action
	for _, v := range t.observed.Clusters {
		if !v.connected() {
			continue
		}
		actions := t.clusterActions(v)
		if len(actions) > 0 && actions[0].Verb == Retract {
			removals = append(removals, actions...)
		} else {
			others = append(others, actions...)
		}
	}
	return append(removals, others...)
}

// clusterActions is offerActions for one cluster. Nothing is offered to a cluster that may still hold an earlier epoch's job: that
// job would adopt the new copy and run under its admission. An object that is not as it should be and that no case names goes by
// itself, or is not ours.
func (t decision) clusterActions(v ClusterView) []Action {
	offered := t.state.isNominated(v.Name) && t.ineligibleReason(v) == ""
	c := v.Copy
	switch {
	case t.hasStale(v) || t.state.hasDebt(v.Name):
		return t.collectDebt(v)
	case !offered && v.removable():
		return t.removeAll(v)
	case !offered:
		return nil
	case c.Holder == Absent:
		return t.createOffer(v)
	case !t.state.isCurrentCopy(c) || c.Finished != nil || c.Deleting:
		return nil
	case c.Deactivating: // it is never admitted: who deactivated it, the fence for one, has ended this offer, not the next
		return t.removeAll(v)
	case c.OnlyPriorityDiffers:
		return []Action{{Verb: UpdateOffer, Cluster: v.Name, Epoch: t.state.Epoch}}
	case !c.SpecMatches:
		return t.removeAll(v)
	}
	return nil
}

// createOffer creates the copy, unless a job is in its way or the cluster's fence might stop what is offered.
func (t decision) createOffer(v ClusterView) []Action {
	if v.Job.Holder != Absent || t.awaitsLease(v) {
		return nil
	}
	return []Action{{
		Verb: CreateOffer, Cluster: v.Name, Epoch: t.state.Epoch, StopsOnHubLost: t.policy.OnHubLost == Stop,
		GateClosed: t.policy.OrchestratePreemption && t.observed.Local.Siblings.Pin == "",
	}}
}
