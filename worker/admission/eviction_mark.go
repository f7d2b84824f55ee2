package admission

// MarkEvicting marks a workload that holds quota as leaving: a plan evicts it, so that no other plan has to. The mark stays
// until Admit reports the workload as evicted, until it gives its quota back, or until Spare. Package cycle calls it for
// every victim of its plan; unknown keys are fine.
func (s *Snapshot) MarkEvicting(k Key) {
	if h := s.lookupHolder(k); h != nil && !h.Evicted {
		s.candidates.remove(&h.Reservation)
		h.Evicted, h.evictionMarked = true, true
		s.candidates.add(&h.Reservation)
	}
}

// UnmarkEvicting undoes Evicting when the eviction's write failed: the workload stays, and the workloads that wait for it to
// leave are requeued. It does nothing once Admit reported the workload as evicted.
func (s *Snapshot) UnmarkEvicting(k Key) {
	if h := s.lookupHolder(k); h != nil && h.evictionMarked {
		s.candidates.remove(&h.Reservation)
		h.Evicted, h.evictionMarked = false, false
		s.candidates.add(&h.Reservation)
		s.recordFreed(h.Queue, h.Usage)
	}
}

// keepEvictionMark keeps the mark of a workload whose reservation is reported again before its eviction was seen.
func (h *quotaHolder) keepEvictionMark(old *quotaHolder) {
	if old.evictionMarked && !h.Evicted && old.UID == h.UID {
		h.Evicted, h.evictionMarked = true, true
	}
}
