package cycle

import (
	"strconv"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// startPreemption evicts the head's victims, except those that are leaving already, and has the head wait for them with a
// claim to its quota.
func (r *run) startPreemption(c *nominatedHead) {
	if len(c.member.Value.ClosedGates) > 0 {
		l, why := c.queue, c.rejection
		why.requeueCondition.PreemptionGated = true
		head := c.member
		r.recycleHead(c)
		r.markInadmissible(l, head, why)
		r.nominateNext(l)
		return
	}
	r.evictVictims(c)
	r.claimQuota(c, c.charge)
}

// evictVictims decides that those victims leave that have not been told to, if there are any.
func (r *run) evictVictims(c *nominatedHead) {
	w, fresh := c.member.Value, false
	for i := range c.victims {
		if !c.victims[i].Evicted {
			r.snapshot.MarkEvicting(c.victims[i].Workload)
			fresh = true
		}
	}
	c.preemptionPending = true
	n := admission.WaitReason{
		Reason:  admission.WaitingForPreemptedWorkloads,
		Message: c.rejection.Message + ". Pending the preemption of " + strconv.Itoa(len(c.victims)) + " workload(s)",
	}
	if !fresh {
		c.reportReason(n)
		return
	}
	c.lastReported = n
	r.processed = append(r.processed, admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Outcome: admission.Preempt, Reason: n.Reason, Message: n.Message, Victims: c.victims,
	})
}

// claimQuota has the head block its queue and counts the usage as taken for the rest of the cycle, and of each later one
// on its cohort tree, once its turn has come.
func (r *run) claimQuota(c *nominatedHead, u admission.Usage) {
	queue := c.flavorTable.Queue
	if queue.Strategy != admission.StrictFIFO {
		c.queue.MakeHeadSticky()
	}
	want := c.rejection.requeueCondition
	want.AnyFreed = true
	c.queue.BlockOnHead(want)
	r.markForRecheck(c.queue, want)
	r.snapshot.BookUsage(queue.Name, u)
	r.bookedClaims = append(r.bookedClaims, bookedClaim{queue: queue.Name, usage: u})
	r.snapshot.Claim(queue.Name, u)
	c.queue = nil
}

// reservesQuota reports whether a head without victims keeps others from taking what it lacks only part of: if it blocks its
// queue, whether or not its queue may evict, unless the queue can reclaim what it lends (contract: kueue-api.md 4.4,
// messages.md 5.9).
func reservesQuota(q *admission.ClusterQueue) bool {
	return q.Strategy == admission.StrictFIFO && q.Preemption.ReclaimWithinCohort != admission.AnyPriority
}

// reserveAvailable has the head, which has no victims, block its queue and claim as much of what it asks for as there is.
func (r *run) reserveAvailable(c *nominatedHead) {
	c.reportReason(c.rejection.WaitReason)
	if part := r.availableUsage(c); len(part) > 0 {
		r.claimQuota(c, part)
		return
	}
	c.queue.BlockOnHead(c.rejection.requeueCondition)
	r.markForRecheck(c.queue, c.rejection.requeueCondition)
	c.queue, c.assignment = nil, nil
}

// availableUsage returns the part of what the head asks for that its queue could take now.
func (r *run) availableUsage(c *nominatedHead) admission.Usage {
	var part admission.Usage
	for _, use := range c.charge {
		cell := r.snapshot.Quota().Cell(c.member.Value.Queue, use.FlavorResource)
		if v := min(use.Amount, cell.Available()); v > 0 {
			part = append(part, quota.Use{FlavorResource: use.FlavorResource, Amount: v})
		}
	}
	return part
}

// releaseBooked gives back what was claimed; the claims themselves stay.
func (r *run) releaseBooked() {
	for _, b := range r.bookedClaims {
		r.snapshot.UnbookUsage(b.queue, b.usage)
	}
	clear(r.bookedClaims)
	r.bookedClaims = r.bookedClaims[:0]
}
