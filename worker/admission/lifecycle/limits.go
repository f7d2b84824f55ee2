package lifecycle

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"switchyard.dev/worker/admission"
)

// executionDeadline is when the workload has been admitted for as long as it may, over all its admissions; zero when it has no
// limit, is not admitted, or is leaving already (contract: kueue-api.md 4.16, max execution time).
func (s State) executionDeadline() time.Time {
	admitted, _ := s.Condition(Admitted)
	if s.MaxExecution <= 0 || !s.isRunning() {
		return time.Time{}
	}
	left := max(int64(s.MaxExecution)-s.pastExecution(), 0)
	return admitted.Since.Add(time.Duration(left) * time.Second)
}

// isRunning reports whether the job may run and has not been told to stop.
func (s State) isRunning() bool {
	return s.Active && s.Reservation != nil && s.IsTrue(Admitted) && !s.IsTrue(Evicted) && !s.IsTrue(DeactivationTarget) && !s.IsTrue(Finished)
}

// deactivateOnExecutionTimeout asks for the deactivation of a workload that has had its time.
func deactivateOnExecutionTimeout(p *Plan, o Observation) {
	at := p.Next.executionDeadline()
	if at.IsZero() || at.After(o.Now) {
		return
	}
	p.Next = p.Next.withCondition(DeactivationTarget, True, DeactivateForExecutionTime, "exceeding the maximum execution time", o.Now)
	p.addEvent(true, EventExecutionTimeExceeded, fmt.Sprintf("The maximum execution time (%ds) exceeded", p.Next.MaxExecution))
}

// podsReadyDeadline is when the pods of an admitted workload must be ready, zero for never (contract: kueue-api.md 4.15). What PodsReady
// says counts only if it was said in this admission; without it the pods have never been ready.
func (s State) podsReadyDeadline(p *PodsReadyPolicy) time.Time {
	if p == nil || !s.isRunning() {
		return time.Time{}
	}
	admitted, _ := s.Condition(Admitted)
	ready, current := s.podsReadyCondition()
	switch {
	case current && ready.Status == True:
		return time.Time{}
	case s.podsReadyWaitReason() == WaitForRecovery:
		return ready.Since.Add(p.RecoveryTimeout)
	default:
		return admitted.Since.Add(p.Timeout)
	}
}

// podsReadyCondition is what was said of the pods, and whether that was in this admission.
func (s State) podsReadyCondition() (ready Condition, current bool) {
	admitted, _ := s.Condition(Admitted)
	ready, _ = s.Condition(PodsReady)
	return ready, !ready.Since.Before(admitted.Since)
}

// podsReadyWaitReason says what pods that are not ready are waited for (contract: messages.md 2.3).
func (s State) podsReadyWaitReason() admission.Reason {
	ready, current := s.podsReadyCondition()
	if current && ready.Status == False && (ready.Reason == WaitForRecovery || ready.Reason == legacyRecovery) {
		return WaitForRecovery
	}
	return WaitForStart
}

// evictOnPodsReadyTimeout evicts a workload whose pods were not ready in time, with a longer delay every time, and deactivates it after too
// many times.
func evictOnPodsReadyTimeout(p *Plan, o Observation) {
	policy := o.Policy.PodsReady
	late := p.Next.podsReadyDeadline(policy)
	if late.IsZero() || late.After(o.Now) {
		return
	}
	times := p.Next.RequeueCount + 1
	if policy.RequeueLimit != nil && times > *policy.RequeueLimit {
		p.Next = p.Next.withCondition(DeactivationTarget, True, DeactivateForRequeuing, "exceeding the maximum number of re-queuing retries", o.Now)
		return
	}
	p.Next.RequeueCount = times
	p.evict(Eviction{
		Reason: EvictedByPodsReadyTimeout, Message: "Exceeded the PodsReady timeout " + p.Next.Name, RequeueAt: o.Now.Add(policy.backoff(p.Next.UID, times)),
	}, o.Now)
}

// jitterSteps is the part of a backoff by which two workloads may differ.
const jitterSteps = 1000

// backoff is how long a workload waits after so many timeouts: the base, doubled with every timeout but the first, at most
// the maximum; and up to a thousandth more, which is the same whenever it is computed and differs between workloads.
func (p *PodsReadyPolicy) backoff(uid string, times int32) time.Duration {
	delay := p.BackoffBase
	for i := int32(1); i < times && delay > 0 && delay < p.BackoffMax; i++ {
		delay *= 2
	}
	delay = min(delay, p.BackoffMax)
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid + "/" + strconv.Itoa(int(times)))) // never fails
	return delay + time.Duration(int64(delay)/jitterSteps*int64(h.Sum32()%jitterSteps)/jitterSteps)
}

// deleteDeactivated deletes a workload without owner that the system has deactivated, once its retention is over. One with an
// owner goes with its owner, which is the job's reconciler's to delete (contract: kueue-api.md 4.16, retention).
func deleteDeactivated(p *Plan, o Observation) {
	s := p.Next
	evicted, _ := s.Condition(Evicted)
	_, cause := SplitEvictionReason(evicted.Reason)
	if o.Policy.DeactivatedRetention == nil || o.Owned || s.Active || s.Reservation != nil || evicted.Status != True || cause == "" {
		return
	}
	p.deleteAt(evicted.Since.Add(*o.Policy.DeactivatedRetention), o.Now, "deactivated")
}

// deleteAt asks to delete the workload at that time.
func (p *Plan) deleteAt(at, now time.Time, ended string) {
	if at.After(now) {
		p.scheduleRecheck(at)
		return
	}
	p.Delete = true
	p.addEvent(false, EventDeleted, "Deleted "+ended+" workload due to elapsed retention")
}

// syncClassPriority follows the value of the class that the workload's priority comes from (contract: kueue-api.md 4.16, WPC value
// change).
func syncClassPriority(p *Plan, o Observation) {
	if o.ClassPriority != nil && *o.ClassPriority != p.Next.Priority {
		p.Priority = o.ClassPriority
	}
}
