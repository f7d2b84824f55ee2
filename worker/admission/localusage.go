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
	if line, found := s.lineOf[local]; found {
		line.Weigh(local.String(), int64(usage))
		s.busy[line.Name()] = line
	}
}

// RecentUsage returns what SetLocalUsage said last.
func (s *Snapshot) RecentUsage(local Key) amount.Amount { return s.localUsage[local] }

// takeTurns returns the group in which the workload waits: that of its LocalQueue if the queue is ordered by usage.
func (s *Snapshot) takeTurns(e *entry, line *Line) string {
	if q, found := s.queues[e.Queue]; !found || !q.UsageBased {
		return ""
	}
	s.lineOf[e.localKey()] = line
	return e.localKey().String()
}

// weigh gives the group of a workload that joined its weight.
func (s *Snapshot) weigh(e *entry, line *Line) {
	if usage, found := s.localUsage[e.localKey()]; found && s.lineOf[e.localKey()] == line {
		line.Weigh(e.localKey().String(), int64(usage))
	}
}

// turn returns what the workload's queue orders by before anything else.
func (s *Snapshot) turn(w *Workload) amount.Amount {
	if q, found := s.queues[w.Queue]; found && q.UsageBased {
		return s.localUsage[w.localKey()]
	}
	return 0
}

// regroup takes in that the queue may be ordered differently now: everybody in its line joins it anew.
func (s *Snapshot) regroup(queue string, wasUsageBased bool) {
	line, found := s.lines[queue]
	if q, exists := s.queues[queue]; !found || (exists && q.UsageBased) == wasUsageBased {
		return
	}
	for _, place := range line.All() {
		e := s.waiting[place.Value.Key]
		s.unclaim(e)
		line.Leave(place)
		delete(s.lineOf, e.localKey())
		s.join(e)
	}
}
