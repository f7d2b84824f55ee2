package assign

import (
	"cmp"

	"switchyard.dev/worker/admission"
)

// Mode says how a request can be met (contract: kueue-api.md 4.6). The larger, the better.
type Mode int

// The modes from worst to best.
const (
	// NoFit: not at all.
	NoFit Mode = iota
	// NoCandidates: policy allows preemption but there is no candidate.
	NoCandidates
	// Preempt: by preempting within the queue.
	Preempt
	// Reclaim: by preempting workloads that borrow what the queue owns.
	Reclaim
	// Fit: right away.
	Fit
)

// flavorGrade is what a flavor has to say to a request: the worst mode over its resources and the greatest borrowing height.
type flavorGrade struct {
	mode            Mode
	borrowingHeight int
}

// combine is the grade of two requests that must both be met.
func (g flavorGrade) combine(other flavorGrade) flavorGrade {
	return flavorGrade{mode: min(g.mode, other.mode), borrowingHeight: max(g.borrowingHeight, other.borrowingHeight)}
}

// canStopSearch reports whether the search may stop at a flavor of this grade.
func (g flavorGrade) canStopSearch(f admission.Fungibility) bool {
	switch g.mode {
	case NoFit, NoCandidates:
		return false
	case Preempt, Reclaim:
		return f.WhenCanPreempt == admission.MayStopSearch && (g.borrowingHeight == 0 || canStopWhenBorrowing(f))
	case Fit:
		return g.borrowingHeight == 0 || canStopWhenBorrowing(f)
	}
	panic("assign: a grade has one of the modes")
}

func canStopWhenBorrowing(f admission.Fungibility) bool {
	return f.WhenCanBorrow != admission.TryNextFlavor
}

// isBetterThan reports whether g is strictly better than other by the queue's preference. Whatever the preference, a grade
// that nothing can come of is worse than one that something can.
func (g flavorGrade) isBetterThan(other flavorGrade, p admission.FlavorPreference) bool {
	if a, b := g.mode > NoCandidates, other.mode > NoCandidates; a != b {
		return a
	}
	mode, borrowing := cmp.Compare(g.mode, other.mode), cmp.Compare(other.borrowingHeight, g.borrowingHeight)
	if p == admission.PreemptionOverBorrowing {
		return cmp.Or(borrowing, mode) > 0
	}
	return cmp.Or(mode, borrowing) > 0
}
