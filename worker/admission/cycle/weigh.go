package cycle

import (
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/preempt"
	"switchyard.dev/worker/admission/quota"
)

// weigh finds the best that the contender can get: if others leave for it already, then whatever fits or what they leave;
// otherwise all of its pods, or else fewer.
func (r *run) weigh(c *contender) assign.Result {
	w := c.place.Value
	if c.pending {
		if got, still := r.weighPending(c, w); still {
			return got
		}
		c.pending = false
	}
	got := r.assign(c, w)
	if got.Mode > assign.NoCandidates {
		return got
	}
	return r.fewer(c, w, got)
}

// assign chooses flavors for the workload, which may be the contender's with fewer pods.
func (r *run) assign(c *contender, w *admission.Workload) assign.Result {
	opts := assign.Options{IgnoreUndeclared: r.options.IgnoreUndeclared, FirstFlavor: r.options.WithoutFungibility}
	if c.menu.Preempts {
		opts.Preemption = r.grader(c, w)
	}
	return r.assigner.Assign(c.menu, w, opts)
}

// grader grades requests by searching for victims, except where that was to no avail.
func (r *run) grader(c *contender, w *admission.Workload) func(*quota.Cell, amount.Amount) assign.Mode {
	grade := r.search.Grader(w, w.Queue)
	return func(cell *quota.Cell, request amount.Amount) assign.Mode {
		if slices.Contains(c.tried, cell) {
			return assign.NoCandidates
		}
		return grade(cell, request)
	}
}

// weighPending finds out whether the contender fits now in any flavor, those behind the one it waits for included, and
// otherwise whether what it waits for is still enough.
func (r *run) weighPending(c *contender, w *admission.Workload) (assign.Result, bool) {
	opts := assign.Options{IgnoreUndeclared: r.options.IgnoreUndeclared, FirstFlavor: r.options.WithoutFungibility}
	if got := r.assigner.Assign(c.menu, w, opts); got.Mode == assign.Fit {
		return got, true
	}
	if height, fits := r.snapshot.Fit(w.Queue, c.assignment.Usage); fits {
		a := *c.assignment
		a.Borrowing = height
		return assign.Result{Mode: assign.Fit, Assignment: &a}, true
	}
	c.victims = r.search.Find(preempt.Need{Workload: w, Queue: w.Queue, Usage: c.assignment.Usage})
	if len(c.victims) == 0 || slices.ContainsFunc(c.victims, func(v admission.Victim) bool { return !v.Evicted }) {
		return assign.Result{}, false
	}
	mode := c.mode
	if mode == assign.Fit {
		mode = assign.Preempt
	}
	return assign.Result{
		Mode: mode, Assignment: c.assignment, Because: c.refusal.Because, Message: c.refusal.Message,
	}, true
}

// fewer looks for the most pods that the workload can have if it cannot have all, which is what full says; full if there is
// no such number (contract: kueue-api.md 4.9).
func (r *run) fewer(c *contender, w *admission.Workload, full assign.Result) assign.Result {
	i := reducible(w)
	if i < 0 || r.options.WithoutPartialAdmission || full.Because == admission.NoMatchingFlavor {
		return full
	}
	full.Lacks = slices.Clone(full.Lacks)
	best := full
	low, high := w.PodSets[i].MinCount, w.PodSets[i].Count-1
	for low <= high {
		count := low + (high-low)/2
		reduced := *w
		reduced.PodSets = slices.Clone(w.PodSets)
		reduced.PodSets[i].Count = count
		if got := r.assign(c, &reduced); got.Mode > assign.NoCandidates {
			best, low = got, count+1
		} else {
			high = count - 1
		}
	}
	return best
}

// reducible returns the index of the pod set that may have fewer pods than it counts, -1 if there is none.
func reducible(w *admission.Workload) int {
	return slices.IndexFunc(w.PodSets, func(p admission.PodSet) bool { return p.MinCount > 0 && p.MinCount < p.Count })
}

// refuse says why the contender, which was weighed, is not served, and what it waits for.
func (r *run) refuse(c *contender, got assign.Result) refusal {
	w := c.place.Value
	want := admission.Want{
		Lacks: slices.Clone(got.Lacks), Less: c.menu.Preempts || reducible(w) >= 0,
		Any:         reducible(w) >= 0 || len(w.PodSets) > 1 || c.menu.Preempts && r.options.FairSharing,
		Claimed:     r.claimed(w.Queue),
		Unconfirmed: c.menu.Preempts && r.snapshot.Unconfirmed(),
	}
	if got.Because == admission.NoMatchingFlavor {
		want = admission.Want{}
	}
	return refusal{
		Notice: admission.Notice{Because: got.Because, Message: got.Message},
		want:   want, ranked: c.menu.Preempts || want.Claimed,
	}
}

// claimed reports whether quota of the queue's tree counts as taken that nobody holds.
func (r *run) claimed(queue string) bool {
	if len(r.booked) == 0 {
		return false
	}
	root := r.snapshot.Root(queue)
	return slices.ContainsFunc(r.booked, func(b booking) bool { return r.snapshot.Root(b.queue) == root })
}
