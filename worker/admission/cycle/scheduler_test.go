package cycle

import (
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/order"
)

func TestSweepDropsWhatLeftTheQueues(t *testing.T) {
	s := NewScheduler(admission.NewSnapshot())
	q := order.NewQueue[*admission.PendingWorkload, admission.RequeueCondition]("q")
	stays := q.Push(&admission.PendingWorkload{}, order.Rank{}, order.Membership{Class: "stays"})
	s.nominated[stays], s.assignments[stays.Class()] = &nominatedHead{}, &cachedAssignment{}
	for len(s.nominated)+len(s.assignments) < minSweep {
		leaves := q.Push(&admission.PendingWorkload{}, order.Rank{}, order.Membership{Class: "leaves"})
		s.nominated[leaves], s.assignments[leaves.Class()] = &nominatedHead{}, &cachedAssignment{}
		q.Remove(leaves)
	}
	s.sweep()
	if len(s.nominated) != 1 || len(s.assignments) != 1 || s.nominated[stays] == nil || s.assignments[stays.Class()] == nil {
		t.Errorf("%d heads and %d assignments are left, want those of the member that stays", len(s.nominated), len(s.assignments))
	}
}
