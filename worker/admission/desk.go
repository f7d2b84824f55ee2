package admission

import (
	"cmp"
	"slices"

	"switchyard.dev/worker/admission/order"
)

// desk is what the snapshot has under the name of a ClusterQueue, as long as there is anything: the queue, or workloads that
// wait in it or hold quota through it.
type desk struct {
	name string
	// queue is nil as long as there is no such queue.
	queue *Queue
	// menu is nil until somebody asks for it.
	menu *Menu
	// line is nil if nobody waited in it yet.
	line  *Line
	tally tally
	// busy is whether the desk is on the list of those.
	busy bool
}

// desk finds a desk or opens it.
func (s *Snapshot) desk(queue string) *desk {
	d, found := s.desks[queue]
	if !found {
		d = &desk{name: queue}
		s.desks[queue] = d
	}
	return d
}

// peek returns a desk without opening it: one that is empty if there is none.
func (s *Snapshot) peek(queue string) *desk {
	if d, found := s.desks[queue]; found {
		return d
	}
	return &desk{name: queue}
}

// tidy closes a desk that nobody needs.
func (s *Snapshot) tidy(d *desk) {
	if d.queue != nil || d.line != nil && d.line.Len() > 0 {
		return
	}
	d.line = nil
	delete(s.passed, d.name)
	if d.tally.empty() {
		delete(s.desks, d.name)
	}
}

// lineAt returns the line of a queue, nil if there is none.
func (s *Snapshot) lineAt(queue string) *Line {
	if d, found := s.desks[queue]; found {
		return d.line
	}
	return nil
}

// openLine returns the line of the desk, opening one if there is none.
func (d *desk) openLine() *Line {
	if d.line == nil {
		d.line = order.NewQueue[*Waiter, Want](d.name)
	}
	return d.line
}

// keepBusy has the next cycle look at the desk's line.
func (s *Snapshot) keepBusy(d *desk) {
	if !d.busy {
		d.busy = true
		s.busy, s.busySorted = append(s.busy, d), false
	}
}

// busyLines returns the lines that have a head or news, by name, and forgets the others.
func (s *Snapshot) busyLines() []*Line {
	s.busy = slices.DeleteFunc(s.busy, func(d *desk) bool {
		d.busy = d.line != nil && (d.line.Head() != nil || d.line.HasNotifications())
		return !d.busy
	})
	if !s.busySorted {
		slices.SortFunc(s.busy, func(a, b *desk) int { return cmp.Compare(a.name, b.name) })
		s.busySorted = true
	}
	lines := make([]*Line, len(s.busy))
	for i, d := range s.busy {
		lines[i] = d.line
	}
	return lines
}
