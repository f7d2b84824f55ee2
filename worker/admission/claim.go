package admission

import "maps"

// Claim says that the head that blocks the queue's line waits for quota that nobody after it in the order may take: each
// cycle on the cohort tree has to look at it, too. It holds until the head leaves, or until the next such cycle. Package
// cycle calls it; a head whose claim ends for another reason than its admission wakes those who lacked the usage.
func (s *Snapshot) Claim(queue string, u Usage) {
	if line := s.lineAt(queue); line != nil && line.BlockingHead() != nil {
		s.claims[queue] = claim{head: line.BlockingHead(), usage: u}
	}
}

// claim is a workload's right to quota that others still hold, or of which there is not enough yet.
type claim struct {
	head  *Place
	usage Usage
}

// Book counts the usage as taken without anybody holding it, for the rest of a cycle: Unbook must follow.
func (s *Snapshot) Book(queue string, u Usage) { s.quota.Reserve(queue, u) }

// Unbook undoes Book and wakes nobody.
func (s *Snapshot) Unbook(queue string, u Usage) { s.quota.Release(queue, u) }

// PassedBy says that some of the queue's line wait with Want.Claimed, Want.Unconfirmed or Want.Ready.
func (s *Snapshot) PassedBy(queue string) {
	if d, found := s.desks[queue]; found && d.line != nil {
		s.passed[queue] = d
	}
}

// unclaim drops the claim of a workload that leaves its line. What it was kept for it others may have now.
func (s *Snapshot) unclaim(e *Waiter) {
	if c, found := s.claims[e.Queue]; found && c.head == e.place {
		delete(s.claims, e.Queue)
		s.stir(e.Queue, c.usage)
	}
}

// callClaims makes those with claims, and those who were passed by for them, take part in a cycle on their trees.
func (s *Snapshot) callClaims() {
	if len(s.claims) == 0 {
		return
	}
	roots := map[string]bool{}
	for _, d := range s.busy {
		if d.line != nil && d.line.Head() != nil {
			roots[s.Root(d.name)] = true
		}
	}
	for queue := range s.claims {
		if roots[s.Root(queue)] {
			delete(s.claims, queue)
			d := s.desk(queue)
			d.line.Unblock()
			s.keepBusy(d)
		}
	}
	for queue, d := range s.passed {
		if roots[s.Root(queue)] && d.line.RequeueIf(func(w Want) bool { return w.Claimed }) {
			s.keepBusy(d)
		}
	}
}

// wakeReady wakes those that wait for pods to be ready, once all are.
func (s *Snapshot) wakeReady() {
	if s.unready > 0 {
		return
	}
	for _, d := range s.passed {
		if d.line.RequeueIf(func(w Want) bool { return w.Ready }) {
			s.keepBusy(d)
		}
	}
}

// Root names the queue's cohort tree: by its first queue, or by the queue itself if it is unknown to the quota tree.
func (s *Snapshot) Root(queue string) string {
	if family := s.quota.Family(queue); len(family) > 0 {
		return family[0]
	}
	return queue
}

// Unready returns the number of workloads that are admitted, or assumed to be, and whose pods are not ready (contract:
// kueue-api.md 4.15). A workload whose checks are pending is not admitted.
func (s *Snapshot) Unready() int { return s.unready }

func (r *Reservation) unready() bool { return r.Assumed || r.Admitted && !r.PodsReady }

// countHolder keeps the numbers of those whose pods are not ready and of those assumed; by is 1 when r comes and -1 when it
// goes.
func (s *Snapshot) countHolder(r *Reservation, by int) {
	if r.unready() {
		s.unready += by
	}
	if r.Assumed {
		s.assumed += by
	}
}

// Unconfirmed reports whether the admission of some workload is still being written, so that it cannot be evicted yet.
func (s *Snapshot) Unconfirmed() bool { return s.assumed > 0 }

// noteConfirmed notes that a workload can be evicted from now on.
func (s *Snapshot) noteConfirmed(was, is *holder) {
	if was.Assumed && !is.Assumed {
		reliefOf(s.confirmed, is.Queue).add(is.Usage)
	}
}

// wakeConfirmed wakes those that may evict somebody whose admission has been written since the last cycle.
func (s *Snapshot) wakeConfirmed() {
	if len(s.confirmed) == 0 {
		return
	}
	byRoot := map[string]*relief{}
	for queue, r := range s.confirmed {
		reliefOf(byRoot, s.Root(queue)).merge(r)
	}
	clear(s.confirmed)
	for queue, d := range s.passed {
		r, found := byRoot[s.Root(queue)]
		if found && d.line.RequeueIf(func(w Want) bool { return w.Unconfirmed && (w.Any || w.lacks(r)) }) {
			s.keepBusy(d)
		}
	}
}

// forgetPassed drops the lines in which nobody waits any more.
func (s *Snapshot) forgetPassed() {
	maps.DeleteFunc(s.passed, func(_ string, d *desk) bool { return d.line.PendingInadmissible() == 0 && d.line.BlockingHead() == nil })
}
