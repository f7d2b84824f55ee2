package cycle

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/order"
	"switchyard.dev/worker/admission/quota"
)

// contender is a head that can be served as things stood when it was looked at. It is remembered at the head's place.
type contender struct {
	bid order.Bid
	// mark is the bid's.
	mark order.Mark
	// lane is nil unless the contender is in the contest: it would keep all of a cycle in memory.
	lane       *lane
	place      *admission.Place
	assignment *admission.Assignment
	// mode is Fit, Preempt, Reclaim, or NoCandidates for one that can only keep others from taking what there is.
	mode assign.Mode
	// menu and version are what the assignment was made with; looks counts how often it was.
	menu    *admission.Menu
	version quota.Version
	// accounts are those that an assignment that fits takes from.
	accounts []account
	looks    int
	// refusal is what happens if it cannot be served after all.
	refusal refusal

	// victims are those whom it needs to be gone, as of the last look; pending is whether they were told to leave for it.
	pending bool
	victims []admission.Victim
	// tried are accounts for which no victims were found in the last look although each of them alone could be met.
	tried []*quota.Cell
	// in is the number of the cycle of the last look.
	in uint64
	// told is what the workload was told last while it held up its line.
	told admission.Notice
}

// account is an amount that an assignment takes from a cell.
type account struct {
	cell   *quota.Cell
	amount amount.Amount
}

// finding is an assignment that fitted a workload. It is remembered for the workload's kind: all that are of it get the same
// as long as the same stands.
type finding struct {
	assignment *admission.Assignment
	accounts   []account
	menu       *admission.Menu
	version    quota.Version
}

func (c *contender) workload() *admission.Workload { return &c.place.Value.Workload }

// refusal is why a head cannot be served.
type refusal struct {
	admission.Notice
	want admission.Want
	// ranked is whether a workload of the same kind may do better if it ranks better.
	ranked bool
}

// look finds out whether the head can be served now; the contender is nil if it cannot, and the refusal says why. Looking
// again costs little if nothing happened that matters, in this cycle or in the next.
func (r *run) look(l *lane, head *admission.Place) (*contender, refusal) {
	menu := r.snapshot.MenuFor(head.Value)
	version := r.version(menu, l.Name())
	c, found := head.Memo.(*contender)
	if !found {
		c = r.recall(head)
	}
	if c != nil && r.stands(c, menu, version) {
		c.lane, c.version = l, version
		return c, refusal{}
	}
	if b := blocked(r.snapshot, &head.Value.Workload); b != nil {
		return nil, refusal{Notice: admission.Notice{Because: b.Because, Message: b.Message}}
	}
	if c == nil {
		c = r.newContender(head)
	}
	c.lane, c.menu, c.version, c.in = l, menu, version, r.number
	c.looks++
	if r.settleFor(c, r.weigh(c)) {
		return c, refusal{}
	}
	return nil, c.refusal
}

// version returns the version of the numbers in the queue's tree.
func (r *run) version(menu *admission.Menu, queue string) quota.Version {
	if menu != nil {
		return menu.Node.Version()
	}
	return r.snapshot.QuotaVersion(queue)
}

// recall returns a contender with what another of the head's kind got, nil if nothing is known of the kind. It has to be seen
// whether that stands.
func (r *run) recall(head *admission.Place) *contender {
	f, known := (*head.KindMemo()).(*finding)
	if !known {
		return nil
	}
	c := r.newContender(head)
	c.mode, c.assignment, c.accounts, c.menu, c.version = assign.Fit, f.assignment, f.accounts, f.menu, f.version
	r.bid(c)
	return c
}

// remember keeps what the contender got for others of its kind, unless that could be different for those of another rank.
func (c *contender) remember(got assign.Result) {
	memo := c.place.KindMemo()
	ranked := c.menu.Preempts && (len(got.Lacks) > 0 || reducible(c.workload()) >= 0)
	if got.Mode != assign.Fit || c.pending || ranked {
		*memo = nil
		return
	}
	f, known := (*memo).(*finding)
	if !known {
		f = &finding{}
		*memo = f
	}
	*f = finding{assignment: c.assignment, accounts: c.accounts, menu: c.menu, version: c.version}
}

// blocked returns what keeps the workload from being considered, nil if nothing does.
func blocked(s *admission.Snapshot, w *admission.Workload) *admission.Block {
	if closed := s.Closed(w.Queue); closed != nil {
		return closed
	}
	return w.Blocked
}

func (r *run) newContender(head *admission.Place) *contender {
	last := len(r.contenders) - 1
	if last < 0 {
		c := &contender{place: head}
		head.Memo = c
		return c
	}
	c := r.contenders[last]
	r.contenders = r.contenders[:last]
	c.place, head.Memo = head, c
	return c
}

// discard forgets a contender that was admitted.
func (r *run) discard(c *contender) {
	*c = contender{}
	r.contenders = append(r.contenders, c)
}

// settleFor takes in what was found and reports whether the contender can be served with it.
func (r *run) settleFor(c *contender, got assign.Result) bool {
	c.assignment, c.mode = got.Assignment, got.Mode
	if got.Mode == assign.Fit {
		c.accounts = accountsOf(c.menu.Node, got.Assignment.Usage)
	} else {
		c.refusal = r.refuse(c, got)
	}
	c.remember(got)
	viable := got.Mode > assign.NoCandidates || got.Mode == assign.NoCandidates && keeps(c.menu.Queue)
	if !viable {
		c.lane, c.assignment, c.victims, c.pending, c.told = nil, nil, nil, false, admission.Notice{}
		return false
	}
	r.bid(c)
	return true
}

func accountsOf(queue *quota.Node, u admission.Usage) []account {
	list := make([]account, 0, len(u))
	for _, use := range u {
		if use.Amount > 0 {
			list = append(list, account{cell: queue.Cell(use.FlavorResource), amount: use.Amount})
		}
	}
	return list
}

// bid has the contender bid for its assignment.
func (r *run) bid(c *contender) {
	c.bid = order.Bid{
		First:     c.pending && r.options.PrioritizePreemptors,
		Borrowing: c.assignment.Borrowing, Rank: c.place.Rank(),
	}
	if r.options.WithoutPrioritySorting {
		c.bid.Priority = 0
	}
	c.mark = c.bid.Mark()
}

// stands reports whether looking again would change nothing. As long as quota is only taken, a flavor that was passed over
// stays worse, unless borrowing from farther away makes the chosen one worse in a queue that looks for less borrowing.
// Whatever closes a queue changes its menu or settles the quota anew.
func (r *run) stands(c *contender, menu *admission.Menu, now quota.Version) bool {
	switch {
	case c.assignment == nil || c.menu != menu || !now.OnlyTaken(c.version):
		return false
	case c.mode != assign.Fit:
		return c.version == now && c.in == r.number
	case c.version == now:
		return true
	case menu.Queue.Fungibility.WhenCanBorrow == admission.TryNextFlavor:
		return false
	}
	height := 0
	for _, a := range c.accounts {
		if a.cell.Available() < a.amount {
			return false
		}
		height = max(height, a.cell.BorrowingHeight(a.amount))
	}
	return height == c.assignment.Borrowing
}
