package lifecycle

import (
	"strconv"
	"time"

	"switchyard.dev/worker/admission"
)

// Because is one thing that happened, for events and metrics.
type Because struct {
	Reason  admission.Reason
	Message string
	Warning bool
}

// Plan is what has to become of a workload. Carry it out in this order: if Next differs from the state that was given,
// store it and do nothing else; otherwise act.
type Plan struct {
	Next State
	// Verdict of all gates of Next.
	Verdict Verdict
	// Deactivate asks to set spec.active to false. The cause is already stored as DeactivationTarget.
	Deactivate bool
	// Delete asks to delete the workload, whose retention is over.
	Delete bool
	// Priority asks to set spec.priority; nil when it is right.
	Priority *int32
	// Unguard allows the resource-in-use finalizer to be removed, as nobody else will do it.
	Unguard bool
	// Because lists what happened, to be told after Next has been stored.
	Because []Because
	// WakeAt is when to look again though nothing changed; zero for never.
	WakeAt time.Time
}

// Step decides what becomes of the workload. It is deterministic; applied to its own result with the same observation it
// changes nothing; and it never changes a finished workload.
func Step(s State, o Observation) Plan {
	switch {
	case s.Is(Finished) || o.Deleting:
		return stepEnded(s, o)
	case o.OwnerGone && o.Policy.FinishOrphans:
		return Plan{Next: Finish(s, OwnerNotFound, "The workload's owner no longer exists", o.Now), Verdict: Merge(s)}
	case s.Active && s.Is(DeactivationTarget):
		return Plan{Next: s, Verdict: Merge(s), Deactivate: true}
	}
	p := Plan{Next: s}
	o = p.giveWay(o)
	for _, rule := range []func(*Plan, Observation){
		follow, deactivate, reject, expire, leave, retry, hurry, release, requeueWhenTriggered, explain, retire, prioritize,
	} {
		rule(&p, o)
	}
	p.Next = Derive(p.Next, o.Now)
	if BecameAdmitted(s, p.Next) {
		p.because(false, EventAdmitted, AdmittedMessage(p.Next, o.Now))
	}
	p.Verdict = Merge(p.Next)
	p.wake(p.Next.requeueAt())
	p.wake(p.Next.expiresAt())
	p.wake(p.Next.readyBy(o.Policy.PodsReady))
	return p
}

// stepEnded is for a workload that does nothing any more: it is let go, and deleted once nobody wants to look at it.
func stepEnded(s State, o Observation) Plan {
	p := Plan{Next: s, Verdict: Merge(s), Unguard: !o.Owned || o.OwnerGone}
	if finished, _ := s.Condition(Finished); !o.Deleting && o.Policy.KeepFinished != nil {
		p.deleteAt(finished.Since.Add(*o.Policy.KeepFinished), o.Now, "finished")
	}
	return p
}

// wake asks to look again at that time, unless an earlier one has been asked for; the zero time asks for nothing.
func (p *Plan) wake(at time.Time) {
	if !at.IsZero() && (p.WakeAt.IsZero() || at.Before(p.WakeAt)) {
		p.WakeAt = at
	}
}

func (p *Plan) because(warning bool, reason admission.Reason, message string) {
	p.Because = append(p.Because, Because{Reason: reason, Message: message, Warning: warning})
}

func (p *Plan) evict(e Eviction, now time.Time) {
	held := p.Next.Reservation != nil
	p.Next = Evict(p.Next, e, now)
	if held { // nobody has to hear that a workload lost what it never had
		p.because(false, eventEvictedDueTo+e.Reason, e.Message)
	}
}

// leaving tells whether an eviction is under way whose quota has not been released.
func (s State) leaving() bool { return s.Reservation != nil && s.Is(Evicted) }

// follow keeps the check entries those that the ClusterQueue asks for. An admission that they end, ends before the other
// rules ask for it; one that they begin must wait for what those rules say.
func follow(p *Plan, o Observation) {
	known := o.ClusterQueue.State != QueueUnseen && o.ClusterQueue.State != QueueMissing
	if p.Next.Reservation != nil && known && !p.Next.leaving() {
		p.Next = p.Next.syncChecks(o.Checks, o.Now)
	}
	if p.Next.Is(Admitted) {
		p.Next = Derive(p.Next, o.Now)
	}
}

// deactivate evicts a workload whose spec.active is false, naming the cause if the system asked for it.
func deactivate(p *Plan, o Observation) {
	if p.Next.Active {
		return
	}
	target, asked := p.Next.Condition(DeactivationTarget)
	if !p.Next.deactivated() {
		e := Eviction{Reason: EvictedByDeactivation, Message: deactivated}
		if asked && target.Status == True {
			e.Reason = deactivatedDueTo + target.Reason
			e.Message = "The workload is deactivated due to " + target.Message
		}
		was := p.Next
		p.evict(e, o.Now)
		if o.Policy.Coarse && was.Reservation == nil {
			p.Next = p.Next.unsaid(was)
		}
	}
	p.Next = p.Next.without(DeactivationTarget)
	p.Next.RequeueAt, p.Next.RequeueCount = time.Time{}, 0
}

// deactivated tells whether the eviction for spec.active=false has been recorded, and no reactivation since.
func (s State) deactivated() bool {
	evicted, _ := s.Condition(Evicted)
	return evicted.Status == True && isDeactivation(evicted.Reason) && (s.Reservation != nil || !s.Is(Requeued))
}

// reject asks for the deactivation of a workload that some check never wants to see again.
func reject(p *Plan, o Observation) {
	if !p.Next.Active || Merge(p.Next) != Reject {
		return
	}
	message := p.Next.saying(CheckRejected)
	p.Next = p.Next.with(DeactivationTarget, True, DeactivateForAdmissionCheck, message, o.Now)
	p.because(true, EventAdmissionCheckRejected, "Deactivated due to "+message)
}

// leave evicts what a stopped queue must not hold. A workload that has not been admitted with this reservation has nothing
// to stop: it loses it at once, without an eviction, and is told why by explain (contract: kueue-api.md 4.16).
func leave(p *Plan, o Observation) {
	if p.Next.Reservation == nil || p.Next.leaving() {
		return
	}
	admitted := p.Next.Is(Admitted)
	switch {
	case (o.LocalQueue.mustLeave(admitted) || o.ClusterQueue.mustLeave(admitted)) && !p.Next.wasAdmitted():
		p.Next = p.Next.withdraw(o.Now)
	case o.ClusterQueue.mustLeave(admitted):
		p.evict(Eviction{Reason: EvictedByClusterQueueStopped, Message: "The ClusterQueue is stopped"}, o.Now)
	case o.LocalQueue.mustLeave(admitted):
		p.evict(Eviction{Reason: EvictedByLocalQueueStopped, Message: "The LocalQueue is stopped"}, o.Now)
	}
}

// retry evicts a workload that some check wants to try again later.
func retry(p *Plan, o Observation) {
	if Merge(p.Next) != Retry || p.Next.leaving() || !p.Next.Active {
		return
	}
	p.evict(Eviction{
		Reason:    EvictedByAdmissionCheck,
		Message:   "Evicted due to " + p.Next.saying(CheckRetry),
		RequeueAt: p.Next.retryAt(),
	}, o.Now)
}

// release frees the quota of an evicted workload that has nobody to do it.
func release(p *Plan, o Observation) {
	if o.Owned {
		return
	}
	evicted, _ := p.Next.Condition(Evicted)
	waits := evicted.Status == True && p.Next.holdsSomething() && p.awaits(evicted.Since, o)
	if !waits {
		p.Next = Release(p.Next, o.Now)
	}
}

// WholeSeconds writes a time to wait as events do: rounded to seconds, such as 90s, never negative.
func WholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(d, 0).Round(time.Second)/time.Second), 10) + "s"
}

// AdmittedMessage is the text of the event about an admission.
func AdmittedMessage(s State, now time.Time) string {
	reserved, _ := s.Condition(QuotaReserved)
	return "Admitted by ClusterQueue " + s.Reservation.ClusterQueue + ", wait time since reservation was " + WholeSeconds(now.Sub(reserved.Since))
}
