package dispatch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// open handles a Workload without a winner: it is offered to clusters, and the first that admits it is bound
// (contract: multikueue.md 4 cases 6b and 8).
func (t turn) open() Plan {
	l := t.o.Local
	if l.Check == Ready {
		plan := t.giveUp(NoRecord, msgNoRecord, nil)
		plan.Next = t.suspect(plan.Next)
		return plan
	}
	next, because := t.begin()
	if because == "" {
		if settled, ok := t.settle(next); ok {
			next, because = settled, Settled
		}
		if winner, ok := t.winner(); ok && t.stuck(next) == "" {
			if owing, wake := t.blockers(next); len(owing) > 0 {
				return t.await(next, Owed, t.msgOwed(owing), wake)
			}
			return t.bind(next, winner)
		}
	}
	waits, message := t.early()
	if waits == SiblingWait && t.p.Dispatcher != External && len(next.Nominated) > 0 {
		next.Nominated, next.Round, because = nil, time.Time{}, cmp.Or(because, waits)
	}
	if waits == SiblingWait && len(next.Nominated) > 0 { // by an external dispatcher: they are not ours to take back
		return t.await(next, cmp.Or(because, waits), message, time.Time{})
	}
	if waits != "" && len(next.Nominated) == 0 {
		if because != "" {
			return t.move(next, because, message)
		}
		plan := t.stay(waits, message, t.dismiss()...)
		if waits == SiblingWait {
			t.speak(&plan)
		}
		return plan
	}
	return t.offer(next, because)
}

// bind stores the winner and says Ready in the same write, before the job is made: that may only be done where we are bound,
// and a write between the two would tell nobody anything. Whether the job ever came into being is not to be read from Ready,
// but from the copy: nothing runs there before a job has adopted it.
func (t turn) bind(next State, winner string) Plan {
	next.Bound, next.Nominated, next.Round = winner, nil, time.Time{}
	next.Stops = t.view(winner).Copy.Stops
	plan := t.move(next, Won, winner+" admitted the workload first")
	t.ready(&plan, winner)
	return plan
}

// ready makes the plan say that the workload is admitted.
func (t turn) ready(plan *Plan, cluster string) {
	plan.Verdict = Verdict{Check: Ready, Message: msgAdmitted(cluster)}
	if t.o.Local.Check != Ready {
		plan.Event = &Event{Message: plan.Verdict.Message}
	}
}

// early returns why nothing may be offered to anybody yet, empty if it may.
func (t turn) early() (because Reason, message string) {
	switch {
	case !t.o.Local.OtherChecksReady:
		return WaitingForChecks, "waiting for the other checks"
	case t.o.Local.AwaitsSibling:
		return SiblingWait, "waiting for the other workloads of the same owner"
	}
	return "", ""
}

// begin settles which epoch the present reservation uses. If the record shows one that an earlier reservation used, or
// shows none although the Workload was evicted before, or something newer than the record is seen, then an epoch ended
// without having been recorded, or the record was lost: a new one is begun, and every cluster suspected.
func (t turn) begin() (State, Reason) {
	s, l := t.s, t.o.Local
	if t.recordLost() {
		s.Epoch, s.Reservation, s.Round = t.nextEpoch(), l.Reservation, time.Time{}
		s = t.suspect(s)
		if t.p.Dispatcher == Incremental || t.p.Dispatcher == BestFit {
			s.Nominated = nil
		}
		return s, RecordLost
	}
	s = t.inherit(s)
	if s.Epoch > 1 && s.Reservation != l.Reservation {
		s.Reservation, s.Round = l.Reservation, time.Time{}
		return s, Opened
	}
	if !s.Equal(t.s) {
		return s, Owed
	}
	return s, ""
}

// inherit adds a debt of every cluster out of reach where a predecessor's job was seen last, or may have been made since: it
// runs under the same name, and possibly for the very same job.
func (t turn) inherit(s State) State {
	for _, v := range t.o.Clusters {
		c, j := v.Copy, v.Job
		running := j.Holder == Predecessor && j.Finished == nil ||
			c.Holder == Predecessor && (c.Admitted || c.Adopted) && c.Finished == nil && j.Finished == nil
		if !v.connected() && running && !t.declaredGone(v) && !s.owedBy(v.Name) {
			s = s.owing(Debt{Cluster: v.Name, Epoch: s.Epoch - 1, Stops: c.Stops})
		}
	}
	return s
}

// blockers returns the clusters that may still run an earlier epoch's job and so forbid a new one, and when the first
// of them may cease to on its own. A cluster out of reach ceases to when the policy says (see hold); one in reach, never.
func (t turn) blockers(s State) (names []string, wake time.Time) {
	for _, d := range s.Debts {
		v := t.view(d.Cluster)
		if !v.connected() {
			h := t.hold(v, d.Stops)
			if h.over {
				continue
			}
			wake = soonest(wake, h.until)
		}
		names = append(names, d.Cluster)
	}
	for _, v := range t.o.Clusters {
		if v.connected() && !s.owedBy(v.Name) && t.stale(v) && t.jobInTheWay(v) {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names, wake
}

// jobInTheWay reports whether a job of an earlier epoch or owner is seen.
func (t turn) jobInTheWay(v ClusterView) bool {
	if live := t.answer(v); live != nil {
		return t.s.staleJob(live.Job)
	}
	return t.s.staleJob(v.Job)
}

// winner returns the nominated cluster that admitted first; equal times are broken by name.
func (t turn) winner() (string, bool) {
	var best *ClusterView
	for i := range t.o.Clusters {
		v := &t.o.Clusters[i]
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

func (t turn) mayWin(v ClusterView) bool {
	c := v.Copy
	return slices.Contains(t.s.Nominated, v.Name) && t.barred(v) == "" && v.connected() && !v.collision() && t.s.currentCopy(c) &&
		c.Admitted && !c.Evicted && !c.Deactivating && !c.Deleting && c.Finished == nil && (c.SpecMatches || c.PriorityOnly)
}

// offer nominates clusters and keeps their copies as they should be.
func (t turn) offer(next State, because Reason) Plan {
	n := t.nominate(next)
	if !n.state.Equal(next) && because == "" {
		because = cmp.Or(t.stuck(next), Nominated)
	}
	next = n.state
	if !next.Equal(t.s) {
		return t.move(next, because, "offering to "+list(next.Nominated))
	}
	switch stuck := t.stuck(next); {
	case stuck != "":
		owing, wake := t.blockers(next)
		return t.await(next, stuck, t.msgOwed(owing), wake)
	case len(t.s.Nominated) == 0 && t.o.Local.Pin != "":
		return t.await(next, NoCluster, `assigned worker cluster `+strconv.Quote(t.o.Local.Pin)+` is not available`, time.Time{})
	case len(t.s.Nominated) == 0:
		return t.await(next, NoCluster, "no cluster can be offered the workload", time.Time{})
	}
	message := "waiting for a cluster to admit the workload"
	if n.exhausted {
		message += "; no more workers to nominate"
	}
	plan := t.await(next, Offered, message, n.wake)
	t.openGate(&plan)
	return plan
}

// await stores next if it differs, and otherwise tends the offers; after a while it says why nothing happens.
func (t turn) await(next State, because Reason, message string, wake time.Time) Plan {
	if !next.Equal(t.s) {
		return t.move(next, because, message)
	}
	plan := t.stay(because, message, t.tend()...)
	plan.WakeAt = wake
	t.speak(&plan)
	return plan
}

// tend returns what the clusters need so that each nominated one has exactly one offer of this epoch and the others
// have nothing.
func (t turn) tend() []Action {
	var removals, others []Action
	for _, v := range t.o.Clusters {
		if !v.connected() {
			continue
		}
		actions := t.tendOne(v)
		if len(actions) > 0 && actions[0].Verb == Retract {
			removals = append(removals, actions...)
		} else {
			others = append(others, actions...)
		}
	}
	return append(removals, others...)
}

// tendOne is tend for one cluster. Nothing is offered to a cluster that may still hold an earlier epoch's job: that job
// would adopt the new copy and run under its admission.
func (t turn) tendOne(v ClusterView) []Action {
	c := v.Copy
	create := Action{Verb: CreateOffer, Cluster: v.Name, Epoch: t.s.Epoch, Stops: t.p.OnHubLost == Stop,
		Gated: t.p.Orchestrate && t.o.Local.Pin == ""}
	switch {
	case t.stale(v), t.s.owedBy(v.Name):
		return t.collect(v)
	case !slices.Contains(t.s.Nominated, v.Name), t.barred(v) != "":
		if v.removable() {
			return t.withdraw(v)
		}
	case c.Holder == Absent && v.Job.Holder == Absent && t.awaitsLease(v):
	case c.Holder == Absent && v.Job.Holder == Absent:
		return []Action{create}
	case !t.s.currentCopy(c) || c.Finished != nil || c.Deleting:
	case c.Deactivating: // it will never be admitted: whoever did that, the fence for one, has ended this offer, not the next
		return t.withdraw(v)
	case c.PriorityOnly:
		return []Action{{Verb: UpdateOffer, Cluster: v.Name, Epoch: t.s.Epoch}}
	case !c.SpecMatches:
		return t.withdraw(v)
	}
	return nil
}
