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
	// NoCandidates: policy allows preemption but there is nobody to preempt.
	NoCandidates
	// Preempt: by preempting within the queue.
	Preempt
	// Reclaim: by preempting workloads that borrow what the queue owns.
	Reclaim
	// Fit: right away.
	Fit
)

// grade is what a flavor has to say to a request: the worst mode over its resources and the greatest borrowing height.
type grade struct {
	mode      Mode
	borrowing int
}

// and is the grade of two requests that must both be met.
func (g grade) and(other grade) grade {
	return grade{mode: min(g.mode, other.mode), borrowing: max(g.borrowing, other.borrowing)}
}

// enough reports whether the search may stop at a flavor of this grade.
func (g grade) enough(f admission.Fungibility) bool {
	switch g.mode {
	case NoFit, NoCandidates:
		return false
	case Preempt, Reclaim:
		return f.WhenCanPreempt == admission.MayStopSearch && (g.borrowing == 0 || canStopBorrowing(f))
	case Fit:
		return g.borrowing == 0 || canStopBorrowing(f)
	}
	panic("assign: a grade has one of the modes")
}

func canStopBorrowing(f admission.Fungibility) bool {
	return f.WhenCanBorrow != admission.TryNextFlavor
}

// betterThan reports whether g is strictly better than other by the queue's preference. Whatever the preference, a grade
// that nothing can come of is worse than one that something can.
func (g grade) betterThan(other grade, p admission.Preference) bool {
	if a, b := g.mode > NoCandidates, other.mode > NoCandidates; a != b {
		return a
	}
	mode, borrowing := cmp.Compare(g.mode, other.mode), cmp.Compare(other.borrowing, g.borrowing)
	if p == admission.PreemptionOverBorrowing {
		return cmp.Or(borrowing, mode) > 0
	}
	return cmp.Or(mode, borrowing) > 0
}
