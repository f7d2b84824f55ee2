package cycle

import (
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/preempt"
	"switchyard.dev/worker/admission/quota"
)

// findAssignment finds the best that the head can get: if others leave for it already, then whatever fits or what they leave;
// otherwise all of its pods, or else fewer.
func (r *run) findAssignment(c *nominatedHead) assign.Result {
	w := c.workload()
	if c.preemptionPending {
		if got, still := r.findPendingAssignment(c, w); still {
			return got
		}
		c.preemptionPending = false
	}
	got := r.assignWithPreemption(c, w)
	if got.Mode > assign.NoCandidates {
		return got
	}
	return r.assignFewerPods(c, w, got)
}

// assignWithPreemption chooses flavors for the workload, which may be the head's with fewer pods, and victims if it needs any. Where
// each of the chosen flavors could be had but not all at once, it goes on to others.
func (r *run) assignWithPreemption(c *nominatedHead, w *admission.Workload) assign.Result {
	opts := r.assignOptions(w)
	opts.PreemptionOracle = gradeWithoutPreemption
	if c.flavorTable.CanPreempt || reservesQuota(c.flavorTable.Queue) {
		opts.PreemptionOracle = r.preemptionOracle(c, w)
	}
	c.exhaustedCells = c.exhaustedCells[:0]
	for {
		got := r.assigner.Assign(c.flavorTable, w, opts)
		if got.Mode == assign.Fit || got.Mode <= assign.NoCandidates {
			return got
		}
		charge := r.snapshot.Charge(w, got.Assignment.Usage)
		c.victims = r.victimSearch.Find(preempt.Request{Workload: w, Queue: w.Queue, Usage: charge})
		if len(c.victims) > 0 {
			got.Assignment.Borrowing = r.heightAfterEviction(c.victims, w.Queue, charge)
			return got
		}
		r.recordExhaustedCells(c, w.Queue, charge)
	}
}

// assignOptions are those for the workload, without preemption.
func (r *run) assignOptions(w *admission.Workload) assign.Options {
	opts := assign.Options{IgnoreUndeclared: r.options.IgnoreUndeclared, FirstFlavor: r.options.WithoutFungibility}
	if old, takesOver := r.snapshot.Replaced(w); takesOver {
		opts.Held = old.Usage
	}
	return opts
}

// gradeWithoutPreemption grades requests in a queue that never preempts: what is within its own quota waits for others to end, so that the next
// pod set is judged, too.
func gradeWithoutPreemption(cell *quota.Cell, request amount.Amount) (assign.Mode, int) {
	if request > cell.Nominal() {
		return assign.NoFit, 0
	}
	return assign.NoCandidates, cell.BorrowingHeight(request)
}

// recordExhaustedCells notes the accounts in which the usage is not available.
func (r *run) recordExhaustedCells(c *nominatedHead, queue string, u admission.Usage) {
	for _, use := range u {
		if cell := r.snapshot.Quota().Cell(queue, use.FlavorResource); cell.Available() < use.Amount {
			c.exhaustedCells = append(c.exhaustedCells, cell)
		}
	}
}

// preemptionOracle grades requests by searching for victims, except where that was to no avail.
func (r *run) preemptionOracle(c *nominatedHead, w *admission.Workload) func(*quota.Cell, amount.Amount) (assign.Mode, int) {
	grade := r.victimSearch.Oracle(w, w.Queue)
	return func(cell *quota.Cell, request amount.Amount) (assign.Mode, int) {
		if slices.Contains(c.exhaustedCells, cell) {
			return assign.NoCandidates, cell.BorrowingHeight(request)
		}
		mode := grade(cell, request)
		if mode == assign.Reclaim {
			return mode, 0
		}
		height := cell.BorrowingHeight(request)
		if mode == assign.Preempt && height > 0 {
			u := admission.Usage{{FlavorResource: cell.Name(), Amount: request}}
			height = r.heightAfterEviction(r.victimSearch.Find(preempt.Request{Workload: w, Queue: w.Queue, Usage: u}), w.Queue, u)
		}
		return mode, height
	}
}

// heightAfterEviction returns the borrowing height of the usage once the victims have left.
func (r *run) heightAfterEviction(victims []admission.Victim, queue string, u admission.Usage) int {
	trial := r.snapshot.Quota().BeginTrial()
	defer trial.Rollback()
	for _, v := range victims {
		if held, found := r.snapshot.Reservation(v.Workload); found {
			trial.Release(held.Queue, held.Usage)
		}
	}
	height := 0
	for _, use := range u {
		if use.Amount > 0 {
			height = max(height, r.snapshot.Quota().Cell(queue, use.FlavorResource).BorrowingHeight(use.Amount))
		}
	}
	return height
}

// findPendingAssignment finds out whether the head fits now in any flavor, those behind the one it waits for included, and
// otherwise whether what it waits for is still enough.
func (r *run) findPendingAssignment(c *nominatedHead, w *admission.Workload) (assign.Result, bool) {
	if got := r.assigner.Assign(c.flavorTable, w, r.assignOptions(w)); got.Mode == assign.Fit {
		return got, true
	}
	charge := r.snapshot.Charge(w, c.assignment.Usage)
	if height, fits := r.snapshot.Fit(w.Queue, charge); fits {
		a := *c.assignment
		a.Borrowing = height
		return assign.Result{Mode: assign.Fit, Assignment: &a}, true
	}
	c.victims = r.victimSearch.Find(preempt.Request{Workload: w, Queue: w.Queue, Usage: charge})
	if len(c.victims) == 0 || slices.ContainsFunc(c.victims, func(v admission.Victim) bool { return !v.Evicted }) {
		return assign.Result{}, false
	}
	mode := c.mode
	if mode == assign.Fit {
		// It fitted before another head was admitted in this cycle.
		mode = assign.Preempt
	}
	return assign.Result{
		Mode: mode, Assignment: c.assignment, Reason: c.rejection.Reason, Message: c.rejection.Message,
	}, true
}

// assignFewerPods looks for the most pods that the workload can have if it cannot have all, which is what full says; full if there is
// no such number (contract: kueue-api.md 4.9).
func (r *run) assignFewerPods(c *nominatedHead, w *admission.Workload, full assign.Result) assign.Result {
	i := reduciblePodSet(w)
	if i < 0 || r.options.WithoutPartialAdmission || full.Reason == admission.NoMatchingFlavor {
		return full
	}
	full.Shortfalls = slices.Clone(full.Shortfalls)
	best := full
	low, high := w.PodSets[i].MinCount, w.PodSets[i].Count-1
	for low <= high {
		count := low + (high-low)/2
		reduced := *w
		reduced.PodSets = slices.Clone(w.PodSets)
		reduced.PodSets[i].Count = count
		if got := r.assignWithPreemption(c, &reduced); got.Mode > assign.NoCandidates {
			best, low = got, count+1
		} else {
			high = count - 1
		}
	}
	return best
}

// reduciblePodSet returns the index of the pod set that may have fewer pods than it counts, -1 if there is none.
func reduciblePodSet(w *admission.Workload) int {
	return slices.IndexFunc(w.PodSets, func(p admission.PodSet) bool { return p.MinCount > 0 && p.MinCount < p.Count })
}

// buildRejection says why the head, which was weighed, is not served, and what it waits for.
func (r *run) buildRejection(c *nominatedHead, got assign.Result) rejection {
	w := c.workload()
	want := admission.RequeueCondition{
		Shortfalls: slices.Clone(got.Shortfalls), PartialHelps: c.flavorTable.CanPreempt || reduciblePodSet(w) >= 0 || reservesQuota(c.flavorTable.Queue),
		AnyFreed:          reduciblePodSet(w) >= 0 || len(w.PodSets) > 1 || c.flavorTable.CanPreempt && r.options.FairSharing,
		QuotaClaimed:      r.hasBookedClaims(w.Queue),
		UnconfirmedVictim: c.flavorTable.CanPreempt && r.snapshot.HasUnconfirmed(),
	}
	if got.Reason == admission.NoMatchingFlavor {
		want = admission.RequeueCondition{}
	}
	return rejection{
		WaitReason:       admission.WaitReason{Reason: got.Reason, Message: got.Message},
		requeueCondition: want, rankSensitive: c.flavorTable.CanPreempt || want.QuotaClaimed,
	}
}

// hasBookedClaims reports whether quota of the queue's tree is booked for claims, that is, counts as taken although no
// workload holds it.
func (r *run) hasBookedClaims(queue string) bool {
	if len(r.bookedClaims) == 0 {
		return false
	}
	root := r.snapshot.Root(queue)
	return slices.ContainsFunc(r.bookedClaims, func(b bookedClaim) bool { return r.snapshot.Root(b.queue) == root })
}
