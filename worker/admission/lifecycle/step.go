package lifecycle

import (
	"strconv"
	"time"

	"switchyard.dev/worker/admission"
)

// Event is one thing that happened, for events and metrics.
type Event struct {
	Reason  admission.Reason
	Message string
	Warning bool
}

// Plan is what has to become of a workload. Carry it out in this order: if Next differs from the state that was given,
// store it and do nothing else; otherwise act.
type Plan struct {
	Next State
	// CheckResult of all gates of Next.
	CheckResult CheckResult
	// Deactivate asks to set spec.active to false. The cause is already stored as DeactivationTarget.
	Deactivate bool
	// Delete asks to delete the workload, whose retention is over.
	Delete bool
	// Priority asks to set spec.priority; nil when it is right.
	Priority *int32
	// RemoveFinalizer allows the resource-in-use finalizer to be removed, as no other program will do it.
	RemoveFinalizer bool
	// Events lists what happened, to be told after Next has been stored.
	Events []Event
	// RecheckAt is when to look again though nothing changed; zero for never.
	RecheckAt time.Time
}

// Step decides what becomes of the workload. It is deterministic; applied to its own result with the same observation it
// changes nothing; and it never changes a finished workload.
func Step(s State, o Observation) Plan {
	switch {
	case s.IsTrue(Finished) || o.Deleting:
		return stepEnded(s, o)
	case o.OwnerGone && o.Policy.FinishOrphans:
		return Plan{Next: Finish(s, OwnerNotFound, "The workload's owner no longer exists", o.Now), CheckResult: MergeChecks(s)}
	case s.Active && s.IsTrue(DeactivationTarget):
		return Plan{Next: s, CheckResult: MergeChecks(s), Deactivate: true}
	}
	p := Plan{Next: s}
	o = p.deferToOwner(o)
	for _, apply := range rules() {
		apply(&p, o)
	}
	p.Next = DeriveConditions(p.Next, o.Now)
	if BecameAdmitted(s, p.Next) {
		p.addEvent(false, EventAdmitted, AdmittedMessage(p.Next, o.Now))
	}
	p.CheckResult = MergeChecks(p.Next)
	p.scheduleRecheck(p.Next.backoffEnd())
	p.scheduleRecheck(p.Next.executionDeadline())
	p.scheduleRecheck(p.Next.podsReadyDeadline(o.Policy.PodsReady))
	return p
}

// rules are what Step applies to a workload that has not ended, each to the result of those before it. First the admission checks
// are brought up to date; then come the evictions, the first of which decides why; then the release, which an eviction needs; and
// last what follows from all of that.
func rules() []func(*Plan, Observation) {
	return []func(*Plan, Observation){
		syncChecksWithQueue,
		evictDeactivated,
		deactivateOnRejectedCheck,
		deactivateOnExecutionTimeout,
		evictFromStoppedQueue,
		evictOnCheckRetry,
		evictOnPodsReadyTimeout,
		releaseEvicted,
		requeueOnTrigger,
		updatePendingReason,
		deleteDeactivated,
		syncClassPriority,
	}
}

// stepEnded is for a workload that does nothing any more: it is let go, and deleted once its retention is over.
func stepEnded(s State, o Observation) Plan {
	p := Plan{Next: s, CheckResult: MergeChecks(s), RemoveFinalizer: !o.Owned || o.OwnerGone}
	if finished, _ := s.Condition(Finished); !o.Deleting && o.Policy.FinishedRetention != nil {
		p.deleteAt(finished.Since.Add(*o.Policy.FinishedRetention), o.Now, "finished")
	}
	return p
}

// scheduleRecheck asks to look again at that time, unless an earlier one has been asked for; the zero time asks for nothing.
func (p *Plan) scheduleRecheck(at time.Time) {
	if !at.IsZero() && (p.RecheckAt.IsZero() || at.Before(p.RecheckAt)) {
		p.RecheckAt = at
	}
}

func (p *Plan) addEvent(warning bool, reason admission.Reason, message string) {
	p.Events = append(p.Events, Event{Reason: reason, Message: message, Warning: warning})
}

func (p *Plan) evict(e Eviction, now time.Time) {
	held := p.Next.Reservation != nil
	p.Next = Evict(p.Next, e, now)
	if held { // nobody has to hear that a workload lost what it never had
		p.addEvent(false, eventEvictedDueTo+e.Reason, e.Message)
	}
}

// isEvicting tells whether an eviction is under way whose quota has not been released.
func (s State) isEvicting() bool { return s.Reservation != nil && s.IsTrue(Evicted) }

// syncChecksWithQueue keeps the check entries those that the ClusterQueue asks for. An admission that they end, ends before the other
// rules ask for it; one that they begin must wait for what those rules say.
func syncChecksWithQueue(p *Plan, o Observation) {
	known := o.ClusterQueue.State != QueueUnknown && o.ClusterQueue.State != QueueMissing
	if p.Next.Reservation != nil && known && !p.Next.isEvicting() {
		p.Next = p.Next.syncChecks(o.Checks, o.Now)
	}
	if p.Next.IsTrue(Admitted) {
		p.Next = DeriveConditions(p.Next, o.Now)
	}
}

// evictDeactivated evicts a workload whose spec.active is false, naming the cause if the system asked for it.
func evictDeactivated(p *Plan, o Observation) {
	if p.Next.Active {
		return
	}
	target, asked := p.Next.Condition(DeactivationTarget)
	if !p.Next.isDeactivationRecorded() {
		e := Eviction{Reason: EvictedByDeactivation, Message: deactivatedMessage}
		if asked && target.Status == True {
			e.Reason = deactivatedDueTo + target.Reason
			e.Message = "The workload is deactivated due to " + target.Message
		}
		was := p.Next
		p.evict(e, o.Now)
		if o.Policy.CoarseReasons && was.Reservation == nil {
			p.Next = p.Next.restorePendingReason(was)
		}
	}
	p.Next = p.Next.withoutCondition(DeactivationTarget)
	p.Next.RequeueAt, p.Next.RequeueCount = time.Time{}, 0
}

// isDeactivationRecorded tells whether the eviction for spec.active=false has been recorded, and no reactivation since.
func (s State) isDeactivationRecorded() bool {
	evicted, _ := s.Condition(Evicted)
	return evicted.Status == True && isDeactivation(evicted.Reason) && (s.Reservation != nil || !s.IsTrue(Requeued))
}

// deactivateOnRejectedCheck asks for the deactivation of a workload that some check never wants to see again.
func deactivateOnRejectedCheck(p *Plan, o Observation) {
	if !p.Next.Active || MergeChecks(p.Next) != Reject {
		return
	}
	message := p.Next.checksText(CheckRejected)
	p.Next = p.Next.withCondition(DeactivationTarget, True, DeactivateForAdmissionCheck, message, o.Now)
	p.addEvent(true, EventAdmissionCheckRejected, "Deactivated due to "+message)
}

// evictFromStoppedQueue evicts what a stopped queue must not hold. A workload that has not been admitted with this reservation has nothing
// to stop: it loses it at once, without an eviction, and is told why by explain (contract: kueue-api.md 4.16).
func evictFromStoppedQueue(p *Plan, o Observation) {
	if p.Next.Reservation == nil || p.Next.isEvicting() {
		return
	}
	admitted := p.Next.IsTrue(Admitted)
	switch {
	case (o.LocalQueue.mustEvict(admitted) || o.ClusterQueue.mustEvict(admitted)) && !p.Next.wasAdmitted():
		p.Next = p.Next.withdrawReservation(o.Now)
	case o.ClusterQueue.mustEvict(admitted):
		p.evict(Eviction{Reason: EvictedByClusterQueueStopped, Message: "The ClusterQueue is stopped"}, o.Now)
	case o.LocalQueue.mustEvict(admitted):
		p.evict(Eviction{Reason: EvictedByLocalQueueStopped, Message: "The LocalQueue is stopped"}, o.Now)
	}
}

// evictOnCheckRetry evicts a workload that some check wants to try again later.
func evictOnCheckRetry(p *Plan, o Observation) {
	if MergeChecks(p.Next) != Retry || p.Next.isEvicting() || !p.Next.Active {
		return
	}
	p.evict(Eviction{
		Reason:    EvictedByAdmissionCheck,
		Message:   "Evicted due to " + p.Next.checksText(CheckRetry),
		RequeueAt: p.Next.retryAt(),
	}, o.Now)
}

// releaseEvicted frees the quota of an evicted workload that has no owner to do it.
func releaseEvicted(p *Plan, o Observation) {
	if o.Owned {
		return
	}
	evicted, _ := p.Next.Condition(Evicted)
	waits := evicted.Status == True && p.Next.hasAnythingToRelease() && p.isInOwnerGrace(evicted.Since, o)
	if !waits {
		p.Next = Release(p.Next, o.Now)
	}
}

// FormatSeconds writes a time to wait as events do: rounded to seconds, such as 90s, never negative.
func FormatSeconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(d, 0).Round(time.Second)/time.Second), 10) + "s"
}

// AdmittedMessage is the text of the event about an admission.
func AdmittedMessage(s State, now time.Time) string {
	reserved, _ := s.Condition(QuotaReserved)
	return "Admitted by ClusterQueue " + s.Reservation.ClusterQueue + ", wait time since reservation was " + FormatSeconds(now.Sub(reserved.Since))
}
