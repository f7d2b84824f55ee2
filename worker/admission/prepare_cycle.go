package admission

import (
	"time"

	"switchyard.dev/worker/admission/quota"
)

// PrepareCycle gets the snapshot ready for a cycle at the time now: backoffs that are over end, and the requeue triggers that
// came since the last cycle take effect once for all of them (contract: kueue-api.md 4.10). It returns the lines that
// have a head or news, by queue name. When nothing happened there are none and it costs nothing.
func (s *Snapshot) PrepareCycle(now time.Time) []*PendingQueue {
	s.endBackoffs(now)
	s.requeueForFreedQuota()
	s.requeueWhenAllReady()
	s.requeueForConfirmed()
	s.requeueClaims()
	s.pruneRecheckQueues()
	return s.queuesForCycle()
}

// QueueBlock returns what keeps a ClusterQueue from admitting anything, nil if nothing does.
func (s *Status) QueueBlock(queue string) *Block {
	q := s.queues.lookupQueueState(queue).clusterQueue
	switch {
	case q == nil:
		return &Block{Reason: Misconfigured, Message: "ClusterQueue " + queue + " doesn't exist"}
	case q.Inactive != nil:
		return q.Inactive
	case s.quota.IsInCycle(queue):
		return &Block{Reason: Suspended, Message: "ClusterQueue " + queue +
			" is inactive: the parents of cohort " + q.Cohort + " form a cycle"}
	}
	return nil
}

// QuotaVersion returns the version of the numbers in the queue's tree.
func (s *Status) QuotaVersion(queue string) quota.Version { return s.quota.Version(queue) }

// Fit returns the borrowing height that the usage needs in the queue now, and whether it fits at all.
func (s *Status) Fit(queue string, u Usage) (height int, fits bool) { return s.quota.Fit(queue, u) }

// QueueStatus returns the counters of a ClusterQueue; all zero for one that is unknown.
func (s *Status) QueueStatus(name string) QueueStatus {
	d := s.queues.lookupQueueState(name)
	t := &d.counters
	status := QueueStatus{
		Active: t.pending - t.backingOff, Inadmissible: t.backingOff,
		Reserving: t.reserving, Admitted: t.admitted,
		Reserved: s.flavorStatus(name, t.reserved), Used: s.flavorStatus(name, t.used),
	}
	if d.pendingQueue != nil {
		status.Active -= d.pendingQueue.PendingInadmissible()
		status.Inadmissible += d.pendingQueue.PendingInadmissible()
	}
	return status
}

// LocalQueueStatus returns the counters of a LocalQueue; queue is the ClusterQueue it points to, whose flavors are listed.
func (s *Status) LocalQueueStatus(lq Key, queue string) LocalQueueStatus {
	t := s.queues.localQueueCounters(lq)
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
func (s *Status) flavorStatus(queue string, booked usageSums) []FlavorStatus {
	q := s.queues.lookupQueueState(queue).clusterQueue
	if q == nil {
		return nil
	}
	var list []FlavorStatus
	for _, grant := range Grants(q.Groups) {
		sum := booked.sumFor(grant.FlavorResource)
		list = append(list, FlavorStatus{
			FlavorResource: grant.FlavorResource, Total: sum.Amount(), Borrowed: sum.Excess(grant.Nominal).Amount(),
		})
	}
	return list
}
