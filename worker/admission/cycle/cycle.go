// Package cycle runs one scheduling cycle: it admits as many waiting workloads as the order and the quota allow, evicts
// others for those whose queues may, and says of every other one that it looked at why it waits (contract: kueue-api.md
// 4.1 to 4.9, 4.15).
//
// A cycle looks only at the lines that something happened to. In each it looks at the head: one that can neither be
// admitted nor make room is parked together with its kind (or, in a StrictFIFO queue, blocks the line) until a requeue
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
	"switchyard.dev/worker/admission/preempt"
)

// Run runs one scheduling cycle at the time now. The snapshot already carries the reservations of the workloads that the
// plan admits and the marks of those it evicts: call Snapshot.Forget and Snapshot.Spare for those whose write fails.
func Run(s *admission.Snapshot, now time.Time, opts Options) admission.Plan {
	r := newRun(s, now, opts)
	lines := s.Settle(now)
	r.takeLanes(len(lines))
	for i, line := range lines {
		l := &r.lanes[i]
		l.Line = line
		r.tellNews(l)
		r.advance(l)
	}
	for r.contest.len() > 0 && (opts.MaxAdmissions == 0 || len(r.served) < opts.MaxAdmissions) {
		r.serveBest()
	}
	r.unbook()
	defer r.leaveLanes()
	return admission.Plan{
		Decisions: r.decisions(), Overlaps: r.overlaps, More: r.yielded || r.contest.len() > 0, WakeAt: s.NextWake(),
	}
}

// takeLanes takes so many empty lanes.
func (r *run) takeLanes(n int) {
	if cap(r.spare) < n {
		r.spare = make([]lane, n)
	}
	r.lanes = r.spare[:n]
}

// leaveLanes lets the next cycle have the lanes.
func (r *run) leaveLanes() {
	clear(r.lanes)
	r.classical.heap.Clear()
}

// run is a cycle in progress.
type run struct {
	*memory
	snapshot *admission.Snapshot
	options  Options
	now      time.Time
	// lanes are the lines that take part, by queue name.
	lanes []lane
	// contest holds the head of every lane that has one that can be served.
	contest contest
	// served are the admissions and preemptions.
	served   []admission.Decision
	overlaps []admission.Overlap
	// yielded is whether some lane has a head that may only be looked at in the next cycle.
	yielded bool
}

// memory is what cycles on the same snapshot use one after the other.
type memory struct {
	// number counts the cycles.
	number   uint64
	assigner assign.Assigner
	// search finds victims by the rules of searches.
	search   *preempt.Search
	searches preempt.Options
	// contenders are free for the next heads.
	contenders []*contender
	// spare are the lanes of the next cycle, empty, and classical is its contest if shares do not matter.
	spare     []lane
	classical *classical
	// booked are the claims that count as taken until the end of the cycle.
	booked []booking
}

type booking struct {
	queue string
	usage admission.Usage
}

// contest is the competition among heads. Whoever is pushed comes out before all that are worse.
type contest interface {
	push(*contender)
	pop() *contender
	len() int
}

func newRun(s *admission.Snapshot, now time.Time, opts Options) *run {
	m, found := s.Memo.(*memory)
	if !found {
		m = &memory{classical: newClassical()}
		s.Memo = m
	}
	if want := opts.preemption(); m.search == nil || !same(m.searches, want) {
		m.searches, m.search = want, preempt.New(s, want)
	}
	m.number++
	r := &run{memory: m, snapshot: s, options: opts, now: now}
	if opts.FairSharing {
		r.contest = newTournament(s.Quota(), !opts.WithoutNonBorrowingFirst)
	} else {
		r.contest = m.classical
	}
	return r
}

func same(a, b preempt.Options) bool {
	return a.FairSharing == b.FairSharing && a.WithinNominal == b.WithinNominal && slices.Equal(a.Strategies, b.Strategies)
}

// lane is a line in the cycle.
type lane struct {
	*admission.Line
	waits []wait
}

// wait is a decision to wait and the rank that sorts it.
type wait struct {
	rank     order.Rank
	decision admission.Decision
}

// advance looks at the lane's heads until one can be served, which enters the contest, or none is left.
func (r *run) advance(l *lane) {
	for head := l.Head(); head != nil; head = l.Head() {
		c, why := r.look(l, head)
		if c != nil {
			r.contest.push(c)
			return
		}
		r.turnAway(l, head, why)
	}
}

// serveBest gives the best contender what it can have, or has it take its place again if others changed what it found.
func (r *run) serveBest() {
	best := r.contest.pop()
	l, bid, looks := best.lane, best.bid, best.looks
	overlapped := r.overlapped(best)
	again, why := r.look(l, best.place)
	if overlapped {
		r.overlaps = append(r.overlaps, overlap(best.workload(), again, looks))
	}
	switch {
	case again == nil:
		r.turnAway(l, best.place, why)
		r.advance(l)
	case again.bid != bid || r.options.FairSharing && again.looks != looks:
		r.contest.push(again)
	case again.mode == assign.Fit && r.options.BlockUntilPodsReady && r.snapshot.Unready() > 0:
		r.awaitReady(again)
	case again.mode == assign.Fit:
		r.admit(again)
		r.advanceAfterAdmission(l)
	case again.mode == assign.NoCandidates:
		r.keep(again)
	default:
		r.preempt(again)
	}
}

func (r *run) admit(c *contender) {
	w := c.workload()
	r.snapshot.Assume(c.place.Value, c.assignment, r.now)
	r.served = append(r.served, admission.Decision{
		Workload: w.Key, LocalQueue: w.LocalQueue, Queue: w.Queue,
		Verdict: admission.Admit, Because: admission.QuotaReserved,
		Message: c.menu.Admitted, Assignment: c.assignment,
	})
	r.discard(c)
}

// advanceAfterAdmission brings up the lane's next head, unless its queue takes turns by the recent usage of LocalQueues, of
// which the admission is a part that the snapshot learns of only after the cycle.
func (r *run) advanceAfterAdmission(l *lane) {
	if l.Groups() > 1 {
		r.yielded = true
		return
	}
	r.advance(l)
}

// awaitReady lets the contender hold up its line until the pods of all admitted workloads are ready.
func (r *run) awaitReady(c *contender) {
	c.lane.Block(admission.Want{Ready: true})
	r.snapshot.PassedBy(c.lane.Name())
	c.tell(admission.Notice{
		Because: admission.WaitingForPodsReady, Message: "waiting for all admitted workloads to be in PodsReady condition",
	})
	c.lane = nil
}

// decisions puts the waits, by queue and rank, behind the admissions and preemptions.
func (r *run) decisions() []admission.Decision {
	n := len(r.served)
	for i := range r.lanes {
		n += len(r.lanes[i].waits)
	}
	if n == len(r.served) {
		return r.served
	}
	all := append(make([]admission.Decision, 0, n), r.served...)
	for i := range r.lanes {
		l := &r.lanes[i]
		slices.SortStableFunc(l.waits, func(a, b wait) int { return a.rank.Compare(b.rank) })
		for j, w := range l.waits {
			// A head that lost its place in a kind that was parked later was told twice: the last word counts.
			if j+1 == len(l.waits) || l.waits[j+1].decision.Workload != w.decision.Workload {
				all = append(all, w.decision)
			}
		}
	}
	return all
}
