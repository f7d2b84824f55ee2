package admission

// Evicting marks a workload that holds quota as leaving: a plan evicts it, so that no other plan has to. The mark stays
// until Admit reports the workload as evicted, until it gives its quota back, or until Spare. Package cycle calls it for
// every victim of its plan; unknown keys are fine.
func (s *Snapshot) Evicting(k Key) {
	if h := s.holderOf(k); h != nil && !h.Evicted {
		s.holders.remove(&h.Reservation)
		h.Evicted, h.marked = true, true
		s.holders.add(&h.Reservation)
	}
}

// Spare undoes Evicting when the eviction's write failed: the workload stays, and those who wait for it to leave are
// looked at again. Does nothing once Admit reported the workload as evicted.
func (s *Snapshot) Spare(k Key) {
	if h := s.holderOf(k); h != nil && h.marked {
		s.holders.remove(&h.Reservation)
		h.Evicted, h.marked = false, false
		s.holders.add(&h.Reservation)
		s.stir(h.Queue, h.Usage)
	}
}

// inherit keeps the mark of a workload whose reservation is reported again before its eviction was seen.
func (h *holder) inherit(old *holder) {
	if old.marked && !h.Evicted && old.UID == h.UID {
		h.Evicted, h.marked = true, true
	}
}
