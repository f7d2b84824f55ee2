package admission

// Replaced returns the reservation that the workload takes over when it is admitted; false if there is none, so that it needs all that it
// asks for.
func (s *Snapshot) Replaced(w *Workload) (Reservation, bool) {
	if w.Replaces == (Key{}) {
		return Reservation{}, false
	}
	old, holds := s.Reservation(w.Replaces)
	return old, holds && old.Queue == w.Queue && w.Replaces != w.Key
}

// Charge returns what the usage, of a workload that waits, takes from the quota: what is beyond what it takes over.
func (s *Snapshot) Charge(w *Workload, u Usage) Usage {
	old, takesOver := s.Replaced(w)
	if !takesOver {
		return u
	}
	return u.Beyond(old.Usage)
}

// removeReplaced drops a workload that another has taken over from, which holds the usage now. What was too much for that one is free.
func (s *Snapshot) removeReplaced(old Reservation, now Usage) {
	t := s.workloads[old.Key]
	s.removeHolder(t.holder)
	delete(s.workloads, old.Key)
	if !old.Usage.IsWithin(now) {
		s.recordFreed(old.Queue, old.Usage)
	}
}

// restoreReplaced undoes removeReplaced, unless something was heard of the workload since.
func (s *Snapshot) restoreReplaced(old *Reservation) {
	if old == nil {
		return
	}
	if _, known := s.workloads[old.Key]; !known {
		s.Admit(*old)
	}
}
