package cycle

import (
	"strconv"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
)

// preempt evicts whom the contender needs to be gone, as far as they are not leaving already, and has it wait for them
// with a claim to its quota.
func (r *run) preempt(c *contender) {
	if len(c.place.Value.ClosedGates) > 0 {
		l, why := c.lane, c.refusal
		why.want.Gated = true
		c.lane, c.assignment, c.pending = nil, nil, false
		r.turnAway(l, c.place, why)
		r.advance(l)
		return
	}
	r.evict(c)
	r.claim(c, c.assignment.Usage)
}

// evict decides that those victims leave that have not been told to, if there are any.
func (r *run) evict(c *contender) {
	w, fresh := c.place.Value, false
	for i := range c.victims {
		if !c.victims[i].Evicted {
			r.snapshot.Evicting(c.victims[i].Workload)
			fresh = true
		}
	}
	c.pending = true
	n := admission.Notice{
		Because: admission.WaitingForPreemptedWorkloads,
		Message: c.refusal.Message + ". Pending the preemption of " + strconv.Itoa(len(c.victims)) + " workload(s)",
	}
	if !fresh {
		c.tell(n)
		return
	}
	c.told = n
	r.served = append(r.served, admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Verdict: admission.Preempt, Because: n.Because, Message: n.Message, Victims: c.victims,
	})
}

// claim has the contender hold up its lane and counts the usage as taken for the rest of the cycle, and of each later one
// on its cohort tree, once its turn has come.
func (r *run) claim(c *contender, u admission.Usage) {
	queue := c.menu.Queue
	if queue.Strategy != admission.StrictFIFO {
		c.lane.Stick()
	}
	want := c.refusal.want
	want.Any = true
	c.lane.Block(want)
	r.passBy(c.lane, want)
	r.snapshot.Book(queue.Name, u)
	r.booked = append(r.booked, booking{queue: queue.Name, usage: u})
	r.snapshot.Claim(queue.Name, u)
	c.lane = nil
}

// keeps reports whether a head that nobody can be evicted for keeps others from taking what it lacks only part of: where it
// holds up its line, whether or not its queue may evict anybody, unless the queue can reclaim what it lends (contract:
// kueue-api.md 4.4, messages.md 5.9).
func keeps(q *admission.Queue) bool {
	return q.Strategy == admission.StrictFIFO && q.Preemption.ReclaimWithinCohort != admission.AnyPriority
}

// keep has the contender, whom nobody can be evicted for, hold up its lane and claim as much of what it asks for as there is.
func (r *run) keep(c *contender) {
	c.tell(c.refusal.Notice)
	if part := r.available(c); len(part) > 0 {
		r.claim(c, part)
		return
	}
	c.lane.Block(c.refusal.want)
	r.passBy(c.lane, c.refusal.want)
	c.lane, c.assignment = nil, nil
}

// available returns the part of what the contender asks for that its queue could take now.
func (r *run) available(c *contender) admission.Usage {
	var part admission.Usage
	for _, use := range c.assignment.Usage {
		cell := r.snapshot.Quota().Cell(c.place.Value.Queue, use.FlavorResource)
		if v := min(use.Amount, cell.Available()); v > 0 {
			part = append(part, quota.Use{FlavorResource: use.FlavorResource, Amount: v})
		}
	}
	return part
}

// unbook gives back what was claimed; the claims themselves stay.
func (r *run) unbook() {
	for _, b := range r.booked {
		r.snapshot.Unbook(b.queue, b.usage)
	}
	clear(r.booked)
	r.booked = r.booked[:0]
}
