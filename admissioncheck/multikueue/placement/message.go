package placement

import (
	"fmt"

	"switchyard.dev/worker/admission/amount"
)

// message says in words why the cell that decides has the grade.
func (f assignment) message(q *Queue) string {
	c := f.worst
	if f.grade == noFlavor {
		if f.reason == "" {
			return "ClusterQueue " + q.Name + " has no flavor for it"
		}
		return f.reason
	}
	if c == (quotaCell{}) {
		return "it asks for nothing"
	}
	need := amount.Format(c.resource, c.need) + " " + c.resource + " of flavor " + c.flavor
	free := ": " + amount.Format(c.resource, c.free) + " free"
	switch f.grade {
	case owns:
		return need + " fit in ClusterQueue " + q.Name + free
	case borrows:
		return need + " fit in ClusterQueue " + q.Name + " by borrowing" + free
	case preempts:
		return need + " fit in ClusterQueue " + q.Name + " if others are evicted" + free
	case waits:
		return need + " have to wait for room in ClusterQueue " + q.Name + free
	case tooLarge:
		return need + " are more than ClusterQueue " + q.Name + " can have"
	case unsure:
		return need + " may have to borrow more than is known to be free in ClusterQueue " + q.Name + free
	case noFlavor:
	}
	return ""
}

// reasonText is message for a workload that may be offered; queued is set if it has to wait for its turn, whatever the room.
func (f assignment) reasonText(q *Queue, queued bool, ahead int) string {
	if queued {
		return fmt.Sprintf("%d wait before it in ClusterQueue %s, which nobody passes", ahead, q.Name)
	}
	text := f.message(q)
	if f.grade != waits || ahead == 0 {
		return text
	}
	return fmt.Sprintf("%s, %d wait before it", text, ahead)
}
