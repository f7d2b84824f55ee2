// Package cycle runs one scheduling cycle: it admits as many waiting workloads as the order and the quota allow, evicts
// others for those whose queues may, and says of every other one that it looked at why it waits (contract: kueue-api.md
// 4.1 to 4.9, 4.15).
//
// A cycle looks only at the lines that something happened to. In each it looks at the head: one that can neither be
// admitted nor make room is inadmissible together with its class (or, in a StrictFIFO queue, blocks the queue) until a requeue
// trigger; one that can competes with the heads of the other lines. The best of them is served: it is admitted, and its
// line comes up with its next head; or it has others evicted and holds up its line until they have left. So it goes on
// until no head is left.
package cycle

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/order"
)

// Run runs the only scheduling cycle of a snapshot: see [Scheduler.Run].
func Run(s *admission.Snapshot, now time.Time, opts Options) admission.Plan {
	return NewScheduler(s).Run(now, opts)
}

// Run runs one scheduling cycle at the time now. The snapshot already carries the reservations of the workloads that the
// plan admits and the marks of those it evicts: call Snapshot.Forget and Snapshot.Spare for those whose write fails.
func (s *Scheduler) Run(now time.Time, opts Options) admission.Plan {
	r := s.newRun(now, opts)
	queues := s.snapshot.PrepareCycle(now)
	r.allocateQueues(len(queues))
	for i, queue := range queues {
		l := &r.queues[i]
		l.PendingQueue = queue
		r.reportNotifications(l)
		r.nominateNext(l)
	}
	for r.heads.len() > 0 && (opts.MaxAdmissions == 0 || len(r.processed) < opts.MaxAdmissions) {
		r.processBestHead()
	}
	r.releaseBooked()
	defer r.releaseQueues()
	return admission.Plan{
		Decisions: r.decisions(), Overlaps: r.overlaps, HasMore: r.hasDeferredHeads || r.heads.len() > 0, NextCycleAt: s.snapshot.NextBackoffEnd(),
	}
}

// allocateQueues takes so many empty queue states.
func (r *run) allocateQueues(n int) {
	if cap(r.spareQueues) < n {
		r.spareQueues = make([]clusterQueueState, n)
	}
	r.queues = r.spareQueues[:n]
}

// releaseQueues lets the next cycle have the queue states.
func (r *run) releaseQueues() {
	clear(r.queues)
	r.classicalOrdering.heap.Clear()
}

// run is a cycle in progress.
type run struct {
	*Scheduler
	options Options
	now     time.Time
	// queues are the lines that take part, by queue name.
	queues []clusterQueueState
	// heads holds the head of every queue that has one that can be served.
	heads headOrdering
	// processed are the admissions and preemptions.
	processed []admission.Decision
	overlaps  []admission.Overlap
	// hasDeferredHeads is whether some queue has a head that may only be looked at in the next cycle.
	hasDeferredHeads bool
}

type bookedClaim struct {
	queue string
	usage admission.Usage
}

// headOrdering orders the heads of a cycle. A head that is pushed comes out before all that rank lower.
type headOrdering interface {
	push(*nominatedHead)
	pop() *nominatedHead
	len() int
}

// clusterQueueState is a line in the cycle.
type clusterQueueState struct {
	*admission.PendingQueue
	waitDecisions []waitDecision
}

// waitDecision is a decision to wait and the rank that sorts it.
type waitDecision struct {
	rank     order.Rank
	decision admission.Decision
}

// nominateNext looks at the queue's heads until one can be served, which takes part in the ordering, or none is left.
func (r *run) nominateNext(l *clusterQueueState) {
	for head := l.Head(); head != nil; head = l.Head() {
		c, why := r.evaluateHead(l, head)
		if c != nil {
			r.heads.push(c)
			return
		}
		r.markInadmissible(l, head, why)
	}
}

// processBestHead gives the best head what it can have, or has it take its place again if others changed what it found.
func (r *run) processBestHead() {
	best := r.heads.pop()
	// An evaluation that ends in a rejection recycles the head.
	l, member, bid, looks := best.queue, best.member, best.key, best.evaluations
	overlapped := r.victimsOverlap(best)
	again, why := r.evaluateHead(l, member)
	if overlapped {
		r.overlaps = append(r.overlaps, newOverlap(&member.Value.Workload, again, looks))
	}
	switch {
	case again == nil:
		r.markInadmissible(l, member, why)
		r.nominateNext(l)
	case again.key != bid || r.options.FairSharing && again.evaluations != looks:
		r.heads.push(again)
	case again.mode == assign.Fit && r.options.BlockUntilPodsReady && r.snapshot.UnreadyCount() > 0:
		r.blockUntilPodsReady(again)
	case again.mode == assign.Fit:
		r.admit(again)
		r.nominateAfterAdmission(l)
	case again.mode == assign.NoCandidates:
		r.reserveAvailable(again)
	default:
		r.startPreemption(again)
	}
}

// admit assumes the head's reservation in the snapshot and records the decision.
func (r *run) admit(c *nominatedHead) {
	w := c.workload()
	r.snapshot.Assume(c.member.Value, c.assignment, r.now)
	r.processed = append(r.processed, admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Outcome: admission.Admit, Reason: admission.QuotaReserved,
		Message: c.flavorTable.AdmittedMessage, Assignment: c.assignment,
	})
	r.recycleHead(c)
}

// nominateAfterAdmission brings up the queue's next head, unless its queue takes turns by the recent usage of LocalQueues, of
// which the admission is a part that the snapshot learns of only after the cycle.
func (r *run) nominateAfterAdmission(l *clusterQueueState) {
	if l.ActiveGroupCount() > 1 {
		r.hasDeferredHeads = true
		return
	}
	r.nominateNext(l)
}

// blockUntilPodsReady lets the head hold up its line until the pods of all admitted workloads are ready.
func (r *run) blockUntilPodsReady(c *nominatedHead) {
	c.queue.BlockOnHead(admission.RequeueCondition{PodsReady: true})
	r.snapshot.MarkForRecheck(c.queue.Name())
	c.reportReason(admission.WaitReason{
		Reason: admission.WaitingForPodsReady, Message: "waiting for all admitted workloads to be in PodsReady condition",
	})
	c.queue = nil
}

// decisions puts the waits, by queue and rank, behind the admissions and preemptions.
func (r *run) decisions() []admission.Decision {
	n := len(r.processed)
	for i := range r.queues {
		n += len(r.queues[i].waitDecisions)
	}
	if n == len(r.processed) {
		return r.processed
	}
	all := append(make([]admission.Decision, 0, n), r.processed...)
	for i := range r.queues {
		l := &r.queues[i]
		slices.SortStableFunc(l.waitDecisions, func(a, b waitDecision) int { return a.rank.Compare(b.rank) })
		for j, w := range l.waitDecisions {
			// A head that lost its place in a class that was marked inadmissible later was told twice: the last word counts.
			if j+1 == len(l.waitDecisions) || l.waitDecisions[j+1].decision.Workload != w.decision.Workload {
				all = append(all, w.decision)
			}
		}
	}
	return all
}
