package lifecycle

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"switchyard.dev/worker/admission"
)

// expiresAt is when the workload has been admitted for as long as it may, over all its admissions; zero when it has no
// limit, is not admitted, or is leaving already (contract: kueue-api.md 4.16, max execution time).
func (s State) expiresAt() time.Time {
	admitted, _ := s.Condition(Admitted)
	if s.MaxExecution <= 0 || !s.running() {
		return time.Time{}
	}
	left := max(int64(s.MaxExecution)-s.pastExecution(), 0)
	return admitted.Since.Add(time.Duration(left) * time.Second)
}

// running tells whether the job may run and nobody has told it to stop.
func (s State) running() bool {
	return s.Active && s.Reservation != nil && s.Is(Admitted) && !s.Is(Evicted) && !s.Is(DeactivationTarget) && !s.Is(Finished)
}

// expire asks for the deactivation of a workload that has had its time.
func expire(p *Plan, o Observation) {
	at := p.Next.expiresAt()
	if at.IsZero() || at.After(o.Now) {
		return
	}
	p.Next = p.Next.with(DeactivationTarget, True, DeactivateForExecutionTime, "exceeding the maximum execution time", o.Now)
	p.because(true, EventExecutionTimeExceeded, fmt.Sprintf("The maximum execution time (%ds) exceeded", p.Next.MaxExecution))
}

// readyBy is when the pods of an admitted workload must be ready, zero for never (contract: kueue-api.md 4.15). What PodsReady
// says counts only if it was said in this admission; without it the pods have never been ready.
func (s State) readyBy(p *PodsReadyPolicy) time.Time {
	if p == nil || !s.running() {
		return time.Time{}
	}
	admitted, _ := s.Condition(Admitted)
	ready, current := s.podsReady()
	switch {
	case current && ready.Status == True:
		return time.Time{}
	case s.awaitedPods() == WaitForRecovery:
		return ready.Since.Add(p.RecoveryTimeout)
	default:
		return admitted.Since.Add(p.Timeout)
	}
}

// podsReady is what was said of the pods, and whether that was in this admission.
func (s State) podsReady() (ready Condition, current bool) {
	admitted, _ := s.Condition(Admitted)
	ready, _ = s.Condition(PodsReady)
	return ready, !ready.Since.Before(admitted.Since)
}

// awaitedPods says what pods that are not ready are waited for (contract: messages.md 2.3).
func (s State) awaitedPods() admission.Reason {
	ready, current := s.podsReady()
	if current && ready.Status == False && (ready.Reason == WaitForRecovery || ready.Reason == legacyRecovery) {
		return WaitForRecovery
	}
	return WaitForStart
}

// hurry evicts a workload whose pods were not ready in time, with a longer delay every time, and deactivates it after too
// many times.
func hurry(p *Plan, o Observation) {
	policy := o.Policy.PodsReady
	late := p.Next.readyBy(policy)
	if late.IsZero() || late.After(o.Now) {
		return
	}
	times := p.Next.RequeueCount + 1
	if policy.Limit != nil && times > *policy.Limit {
		p.Next = p.Next.with(DeactivationTarget, True, DeactivateForRequeuing, "exceeding the maximum number of re-queuing retries", o.Now)
		return
	}
	p.Next.RequeueCount = times
	p.evict(Eviction{
		Reason: EvictedByPodsReadyTimeout, Message: "Exceeded the PodsReady timeout " + p.Next.Name, RequeueAt: o.Now.Add(policy.backoff(p.Next.UID, times)),
	}, o.Now)
}

// spread is the part of a backoff by which two workloads may differ.
const spread = 1000

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
	return delay + time.Duration(int64(delay)/spread*int64(h.Sum32()%spread)/spread)
}

// retire deletes a workload without owner that the system has deactivated, once nobody wants to look at it. One with an
// owner goes with its owner, which is the job's reconciler's to delete (contract: kueue-api.md 4.16, retention).
func retire(p *Plan, o Observation) {
	s := p.Next
	evicted, _ := s.Condition(Evicted)
	_, cause := Split(evicted.Reason)
	if o.Policy.KeepDeactivated == nil || o.Owned || s.Active || s.Reservation != nil || evicted.Status != True || cause == "" {
		return
	}
	p.deleteAt(evicted.Since.Add(*o.Policy.KeepDeactivated), o.Now, "deactivated")
}

// deleteAt asks to delete the workload at that time.
func (p *Plan) deleteAt(at, now time.Time, ended string) {
	if at.After(now) {
		p.wake(at)
		return
	}
	p.Delete = true
	p.because(false, EventDeleted, "Deleted "+ended+" workload due to elapsed retention")
}

// prioritize follows the value of the class that the workload's priority comes from (contract: kueue-api.md 4.16, WPC value
// change).
func prioritize(p *Plan, o Observation) {
	if o.ClassPriority != nil && *o.ClassPriority != p.Next.Priority {
		p.Priority = o.ClassPriority
	}
}
