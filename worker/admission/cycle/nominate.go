package cycle

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// nominatedHead is a head that can be served as things stood when it was looked at. It is remembered at the head's place.
type nominatedHead struct {
	key order.HeadKey
	// prefix is the head's.
	prefix order.RankPrefix
	// queue is nil unless the head takes part in the ordering: it would keep all of a cycle in memory.
	queue      *clusterQueueState
	member     *admission.QueueMember
	assignment *admission.Assignment
	// charge is what the assignment takes from the quota.
	charge admission.Usage
	// mode is Fit, Preempt, Reclaim, or NoCandidates for one that can only keep others from taking what there is.
	mode assign.Mode
	// flavorTable and version are what the assignment was made with; looks counts how often it was.
	flavorTable  *admission.FlavorTable
	quotaVersion quota.Version
	// cellRequests are those that an assignment that fits takes from.
	cellRequests []cellRequest
	evaluations  int
	// rejection is what happens if it cannot be served after all.
	rejection rejection

	// victims are the workloads that must leave for it, as of the last search; pending is whether they were told to.
	preemptionPending bool
	victims           []admission.Victim
	// exhaustedCells are accounts for which no victims were found in the last look although each of them alone could be met.
	exhaustedCells []*quota.Cell
	// evaluatedInCycle is the number of the cycle of the last look.
	evaluatedInCycle uint64
	// lastReported is what the workload was told last while it held up its line.
	lastReported admission.WaitReason
}

// cellRequest is an amount that an assignment takes from a cell.
type cellRequest struct {
	cell   *quota.Cell
	amount amount.Amount
}

// cachedAssignment is an assignment that fitted a workload. It is remembered for the workload's class: all that are of it get the same
// as long as the same stands.
type cachedAssignment struct {
	assignment   *admission.Assignment
	cellRequests []cellRequest
	flavorTable  *admission.FlavorTable
	quotaVersion quota.Version
}

func (c *nominatedHead) workload() *admission.Workload { return &c.member.Value.Workload }

// rejection is why a head cannot be served.
type rejection struct {
	admission.WaitReason
	requeueCondition admission.RequeueCondition
	// rankSensitive is whether a workload of the same class may do better if it ranks better.
	rankSensitive bool
}

// evaluateHead finds out whether the head can be served now; the head is nil if it cannot, and the refusal says why. Looking
// again costs little if nothing happened that matters, in this cycle or in the next.
func (r *run) evaluateHead(l *clusterQueueState, head *admission.QueueMember) (*nominatedHead, rejection) {
	flavors := r.snapshot.FlavorTableFor(head.Value)
	version := r.quotaVersion(flavors, l.Name())
	c := r.nominated[head]
	if c == nil {
		c = r.nominateFromCache(head)
	}
	if c != nil && !r.isReplacedInTransit(c) && r.isStillValid(c, flavors, version) {
		c.queue, c.quotaVersion = l, version
		return c, rejection{}
	}
	if b := workloadBlock(r.snapshot, &head.Value.Workload); b != nil {
		return nil, rejection{WaitReason: admission.WaitReason{Reason: b.Reason, Message: b.Message}}
	}
	if replaced, takesOver := r.snapshot.Replaced(&head.Value.Workload); takesOver && isInTransit(&replaced) {
		if c != nil {
			r.recycleHead(c)
		}
		return nil, waitForReplaced(&replaced)
	}
	if c == nil {
		c = r.newNominatedHead(head)
	}
	c.queue, c.flavorTable, c.quotaVersion, c.evaluatedInCycle = l, flavors, version, r.cycleNumber
	c.evaluations++
	if r.applyResult(c, r.findAssignment(c)) {
		return c, rejection{}
	}
	why := c.rejection
	r.recycleHead(c)
	return nil, why
}

// isReplacedInTransit reports whether the head takes over from a workload whose quota cannot be taken over now.
func (r *run) isReplacedInTransit(c *nominatedHead) bool {
	replaced, takesOver := r.snapshot.Replaced(c.workload())
	return takesOver && isInTransit(&replaced)
}

// isInTransit reports whether a reservation is about to go, or to come: nobody takes it over then.
func isInTransit(held *admission.Reservation) bool { return held.Evicted || held.Assumed }

// waitForReplaced is for a workload that would take over from one in transit.
func waitForReplaced(old *admission.Reservation) rejection {
	return rejection{
		WaitReason: admission.WaitReason{
			Reason: admission.WaitingForQuota, Message: "waiting for the workload slice " + old.Key.String() + " that it replaces",
		},
		requeueCondition: admission.RequeueCondition{AnyFreed: true, UnconfirmedVictim: old.Assumed},
	}
}

// quotaVersion returns the version of the numbers in the queue's tree.
func (r *run) quotaVersion(flavors *admission.FlavorTable, queue string) quota.Version {
	if flavors != nil {
		return flavors.Node.Version()
	}
	return r.snapshot.QuotaVersion(queue)
}

// nominateFromCache returns a head with what another of the head's class got, nil if nothing is known of the class. It has to be seen
// whether that stands.
func (r *run) nominateFromCache(head *admission.QueueMember) *nominatedHead {
	f, known := r.assignments[head.Class()]
	if !known {
		return nil
	}
	c := r.newNominatedHead(head)
	c.mode, c.assignment, c.cellRequests, c.flavorTable, c.quotaVersion = assign.Fit, f.assignment, f.cellRequests, f.flavorTable, f.quotaVersion
	c.charge = f.assignment.Usage
	r.setKey(c)
	return c
}

// cacheForClass keeps what the head got for others of its class, unless that could be different for those of another rank.
func (r *run) cacheForClass(c *nominatedHead, got assign.Result) {
	class := c.member.Class()
	ranked := c.flavorTable.CanPreempt && (len(got.Shortfalls) > 0 || reduciblePodSet(c.workload()) >= 0)
	if got.Mode != assign.Fit || c.preemptionPending || ranked || c.workload().Replaces != (admission.Key{}) {
		delete(r.assignments, class)
		return
	}
	f, known := r.assignments[class]
	if !known {
		f = &cachedAssignment{}
		r.assignments[class] = f
	}
	*f = cachedAssignment{assignment: c.assignment, cellRequests: c.cellRequests, flavorTable: c.flavorTable, quotaVersion: c.quotaVersion}
}

// workloadBlock returns what keeps the workload from being considered, nil if nothing does.
func workloadBlock(s *admission.Snapshot, w *admission.Workload) *admission.Block {
	if closed := s.QueueBlock(w.Queue); closed != nil {
		return closed
	}
	return w.Blocked
}

// newNominatedHead returns an empty entry for a head. Entries of earlier cycles are reused.
func (r *run) newNominatedHead(head *admission.QueueMember) *nominatedHead {
	last := len(r.freeHeads) - 1
	if last < 0 {
		c := &nominatedHead{member: head}
		r.nominated[head] = c
		return c
	}
	c := r.freeHeads[last]
	r.freeHeads = r.freeHeads[:last]
	c.member, r.nominated[head] = head, c
	return c
}

// recycleHead forgets a head that was admitted or rejected.
func (r *run) recycleHead(c *nominatedHead) {
	delete(r.nominated, c.member)
	*c = nominatedHead{}
	r.freeHeads = append(r.freeHeads, c)
}

// applyResult takes in what was found and reports whether the head can be served with it.
func (r *run) applyResult(c *nominatedHead, got assign.Result) bool {
	c.assignment, c.mode = got.Assignment, got.Mode
	if c.assignment != nil {
		c.charge = r.snapshot.Charge(c.workload(), c.assignment.Usage)
	}
	if got.Mode == assign.Fit {
		c.cellRequests = newCellRequests(c.flavorTable.Node, c.charge)
	} else {
		c.rejection = r.buildRejection(c, got)
	}
	r.cacheForClass(c, got)
	viable := got.Mode > assign.NoCandidates || got.Mode == assign.NoCandidates && reservesQuota(c.flavorTable.Queue)
	if viable {
		r.setKey(c)
	}
	return viable
}

// newCellRequests are the cells of a queue that a usage touches, with what it takes there.
func newCellRequests(queue *quota.Node, u admission.Usage) []cellRequest {
	list := make([]cellRequest, 0, len(u))
	for _, use := range u {
		if use.Amount > 0 {
			list = append(list, cellRequest{cell: queue.Cell(use.FlavorResource), amount: use.Amount})
		}
	}
	return list
}

// setKey sets the ordering key of the head from its assignment.
func (r *run) setKey(c *nominatedHead) {
	c.key = order.HeadKey{
		Preferred:       c.preemptionPending && r.options.PrioritizePreemptors,
		BorrowingHeight: c.assignment.Borrowing, Rank: c.member.Rank(),
	}
	if r.options.WithoutPrioritySorting {
		c.key.Priority = 0
	}
	c.prefix = c.key.Prefix()
}

// isStillValid reports whether looking again would change nothing. As long as quota is only taken, a flavor that was passed over
// stays worse, unless borrowing from farther away makes the chosen one worse in a queue that looks for less borrowing.
// Whatever closes a queue changes its flavor table or settles the quota anew.
func (r *run) isStillValid(c *nominatedHead, flavors *admission.FlavorTable, now quota.Version) bool {
	switch {
	case c.assignment == nil || c.flavorTable != flavors || !now.OnlyReservedSince(c.quotaVersion):
		return false
	case c.mode != assign.Fit || c.workload().Replaces != (admission.Key{}):
		return c.quotaVersion == now && c.evaluatedInCycle == r.cycleNumber
	case c.quotaVersion == now:
		return true
	case flavors.Queue.Fungibility.WhenCanBorrow == admission.TryNextFlavor:
		return false
	}
	height := 0
	for _, a := range c.cellRequests {
		if a.cell.Available() < a.amount {
			return false
		}
		height = max(height, a.cell.BorrowingHeight(a.amount))
	}
	return height == c.assignment.Borrowing
}
