package cycle

import (
	"maps"
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/preempt"
)

// Scheduler runs the scheduling cycles of one snapshot, one after the other, and keeps for the next cycle what the last one
// found. All changes between cycles go to the snapshot.
type Scheduler struct {
	snapshot *admission.Snapshot
	// nominated are the heads that could be served as things stood when they were last evaluated. One that left the snapshot
	// stays until sweep finds it.
	nominated map[*admission.QueueMember]*nominatedHead
	// assignments are those that fitted the last evaluated head of a class: all of the class get the same as long as the same
	// holds.
	assignments map[*admission.Class]*cachedAssignment
	// sweepAt is the number of entries of both maps at which those that left the snapshot are looked for.
	sweepAt int

	// cycleNumber counts the cycles.
	cycleNumber uint64
	assigner    assign.Assigner
	// victimSearch finds victims by the rules of searches.
	victimSearch  *preempt.Search
	searchOptions preempt.Options
	// freeHeads are free for the next heads.
	freeHeads []*nominatedHead
	// spareQueues are the queue states of the next cycle, empty, and classical is its ordering if shares do not matter.
	spareQueues       []clusterQueueState
	classicalOrdering *classicalOrdering
	// bookedClaims are the claims that count as taken until the end of the cycle.
	bookedClaims []bookedClaim
}

// minSweep is the least number of cached entries that is worth a search for those that left.
const minSweep = 256

// NewScheduler returns the scheduler of a snapshot. No other scheduler may run cycles on the same snapshot.
func NewScheduler(s *admission.Snapshot) *Scheduler {
	return &Scheduler{
		snapshot: s, nominated: map[*admission.QueueMember]*nominatedHead{}, assignments: map[*admission.Class]*cachedAssignment{},
		sweepAt: minSweep, classicalOrdering: newClassicalOrdering(),
	}
}

// Snapshot returns the snapshot that the cycles run on.
func (s *Scheduler) Snapshot() *admission.Snapshot { return s.snapshot }

// newRun begins a cycle. What the scheduler remembers is kept for as long as the options that it depends on do not change.
func (s *Scheduler) newRun(now time.Time, opts Options) *run {
	if search := opts.preemptionOptions(); s.victimSearch == nil || !sameSearchOptions(s.searchOptions, search) {
		s.searchOptions, s.victimSearch = search, preempt.New(s.snapshot, search)
	}
	s.cycleNumber++
	s.sweep()
	r := &run{Scheduler: s, options: opts, now: now}
	if opts.FairSharing {
		r.heads = newTournament(s.snapshot.Quota(), !opts.WithoutNonBorrowingFirst)
	} else {
		r.heads = s.classicalOrdering
	}
	return r
}

// sweep drops what is cached of workloads and classes that left the snapshot, once the caches have doubled since the last
// time, so that a cycle pays for what it adds only.
func (s *Scheduler) sweep() {
	if len(s.nominated)+len(s.assignments) < s.sweepAt {
		return
	}
	maps.DeleteFunc(s.nominated, func(p *admission.QueueMember, _ *nominatedHead) bool { return !p.IsQueued() })
	maps.DeleteFunc(s.assignments, func(c *admission.Class, _ *cachedAssignment) bool { return c.Len() == 0 })
	s.sweepAt = max(minSweep, 2*(len(s.nominated)+len(s.assignments)))
}

func sameSearchOptions(a, b preempt.Options) bool {
	return a.FairSharing == b.FairSharing && a.WithinNominal == b.WithinNominal && slices.Equal(a.Strategies, b.Strategies)
}
