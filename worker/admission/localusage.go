package admission

import "switchyard.dev/worker/admission/amount"

// SetLocalUsage says how much a LocalQueue used of late, in thousandths of a weighted unit; amount.Unlimited for
// infinitely much. In a queue with UsageBased it orders those who wait: the lower, the earlier, before priority
// (contract: kueue-api.md 4.14). A LocalQueue that was never mentioned used nothing.
func (s *Snapshot) SetLocalUsage(local Key, usage amount.Amount) {
	if s.localUsage[local] == usage {
		return
	}
	if usage == 0 {
		delete(s.localUsage, local)
	} else {
		s.localUsage[local] = usage
	}
	if d, found := s.deskOf[local]; found && d.line != nil {
		d.line.SetGroupWeight(local.String(), int64(usage))
		s.keepBusy(d)
	}
}

// RecentUsage returns what SetLocalUsage said last.
func (s *Snapshot) RecentUsage(local Key) amount.Amount { return s.localUsage[local] }

// takeTurns returns the group in which the workload waits: that of its LocalQueue if the queue is ordered by usage.
func (s *Snapshot) takeTurns(e *Waiter) string {
	if !e.desk.usageBased() {
		return ""
	}
	s.deskOf[e.localKey()] = e.desk
	return e.localKey().String()
}

// weigh gives the group of a workload that joined its weight.
func (s *Snapshot) weigh(e *Waiter) {
	if len(s.localUsage) == 0 {
		return
	}
	if usage, found := s.localUsage[e.localKey()]; found && s.deskOf[e.localKey()] == e.desk {
		e.desk.line.SetGroupWeight(e.localKey().String(), int64(usage))
	}
}

// turn returns what the workload's queue orders by before anything else.
func (s *Snapshot) turn(w *Workload) amount.Amount {
	if s.peek(w.Queue).usageBased() {
		return s.localUsage[w.localKey()]
	}
	return 0
}

// regroup takes in that the queue may be ordered differently now: everybody in its line joins it anew.
func (s *Snapshot) regroup(d *desk, wasUsageBased bool) {
	if d.line == nil || d.usageBased() == wasUsageBased {
		return
	}
	for _, place := range d.line.All() {
		e := place.Value
		s.unclaim(e)
		d.line.Remove(place)
		delete(s.deskOf, e.localKey())
		s.join(e)
	}
}

func (d *desk) usageBased() bool { return d.queue != nil && d.queue.UsageBased }
