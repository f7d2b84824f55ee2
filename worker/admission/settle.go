package admission

import (
	"cmp"
	"slices"
	"time"

	"switchyard.dev/worker/admission/quota"
)

// Settle gets the snapshot ready for a cycle at the time now: backoffs that are over end, and the requeue triggers that
// came since the last cycle take effect once for all of them (contract: kueue-api.md 4.10). It returns the lines that
// have a head or news, by queue name. When nothing happened there are none and it costs nothing.
func (s *Snapshot) Settle(now time.Time) []*Line {
	s.startDue(now)
	s.wakeStirred()
	s.wakeReady()
	s.wakeConfirmed()
	s.callClaims()
	s.forgetPassed()
	return s.busyLines()
}

// Closed returns what keeps a ClusterQueue from admitting anything, nil if nothing does.
func (s *Snapshot) Closed(queue string) *Block {
	q := s.peek(queue).queue
	switch {
	case q == nil:
		return &Block{Because: Misconfigured, Message: "ClusterQueue " + queue + " doesn't exist"}
	case q.Inactive != nil:
		return q.Inactive
	case s.quota.Cyclic(queue):
		return &Block{Because: Suspended, Message: "ClusterQueue " + queue +
			" is inactive: the parents of cohort " + q.Cohort + " form a cycle"}
	}
	return nil
}

// QuotaVersion returns the version of the numbers in the queue's tree.
func (s *Snapshot) QuotaVersion(queue string) quota.Version { return s.quota.Version(queue) }

// Fit returns the borrowing height that the usage needs in the queue now, and whether it fits at all.
func (s *Snapshot) Fit(queue string, u Usage) (height int, fits bool) { return s.quota.Fit(queue, u) }

// QueueStatus returns the counters of a ClusterQueue; all zero for one that is unknown.
func (s *Snapshot) QueueStatus(name string) QueueStatus {
	d := s.peek(name)
	t := &d.tally
	status := QueueStatus{
		Active: t.pending - t.delayed, Inadmissible: t.delayed,
		Reserving: t.reserving, Admitted: t.admitted,
		Reserved: s.flavorStatus(name, t.reserved), Used: s.flavorStatus(name, t.used),
	}
	if d.line != nil {
		status.Active -= d.line.PendingInadmissible()
		status.Inadmissible += d.line.PendingInadmissible()
	}
	return status
}

// LocalQueueStatus returns the counters of a LocalQueue; queue is the ClusterQueue it points to, whose flavors are listed.
func (s *Snapshot) LocalQueueStatus(lq Key, queue string) LocalQueueStatus {
	t := s.peekLocal(lq)
	status := LocalQueueStatus{
		Pending: t.pending, Reserving: t.reserving, Admitted: t.admitted,
		Reserved: s.flavorStatus(queue, t.reserved), Used: s.flavorStatus(queue, t.used),
	}
	for _, list := range [][]FlavorStatus{status.Reserved, status.Used} {
		for i := range list {
			list[i].Borrowed = 0
		}
	}
	return status
}

// flavorStatus lists the sums for what the queue grants, in the queue's order.
func (s *Snapshot) flavorStatus(queue string, booked sums) []FlavorStatus {
	q := s.peek(queue).queue
	if q == nil {
		return nil
	}
	var list []FlavorStatus
	for _, grant := range Grants(q.Groups) {
		sum := booked.of(grant.FlavorResource)
		list = append(list, FlavorStatus{
			FlavorResource: grant.FlavorResource, Total: sum.Amount(), Borrowed: sum.Over(grant.Nominal).Amount(),
		})
	}
	return list
}

// Waiting lists the workloads that wait in a ClusterQueue by rank, parked ones included; a workload's position is its
// index (contract: kueue-api.md 1.17).
func (s *Snapshot) Waiting(queue string) []Workload {
	var list []Workload
	if line := s.lineAt(queue); line != nil {
		for _, place := range line.All() {
			list = append(list, place.Value.Workload)
		}
	}
	for _, e := range s.delayed.All() {
		if e.Queue == queue {
			list = append(list, e.Workload)
		}
	}
	slices.SortFunc(list, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(s.turn(&a), s.turn(&b)), a.rank().Compare(b.rank()))
	})
	return list
}
