package assign

import (
	"testing"

	"switchyard.dev/worker/admission"
)

func TestWhenTheSearchMayStop(t *testing.T) {
	var defaults admission.Fungibility
	picky := admission.Fungibility{WhenCanBorrow: admission.TryNextFlavor}
	eager := admission.Fungibility{WhenCanPreempt: admission.MayStopSearch}
	pickyAndEager := admission.Fungibility{WhenCanBorrow: admission.TryNextFlavor, WhenCanPreempt: admission.MayStopSearch}
	for _, c := range []struct {
		name string
		f    admission.Fungibility
		g    grade
		want bool
	}{
		{"at a fit without borrowing always", picky, grade{Fit, 0}, true},
		{"at a fit that borrows by default", defaults, grade{Fit, 2}, true},
		{"not at a fit that borrows if the queue would rather try the next", picky, grade{Fit, 1}, false},
		{"not at preemption by default", defaults, grade{Reclaim, 0}, false},
		{"at preemption if the queue says so", eager, grade{Preempt, 0}, true},
		{"at preemption that borrows if both may stop", eager, grade{Preempt, 1}, true},
		{"not at preemption that borrows if borrowing may not", pickyAndEager, grade{Preempt, 1}, false},
		{"never where nothing can come of it", eager, grade{NoCandidates, 0}, false},
		{"never at no fit", eager, grade{NoFit, 0}, false},
	} {
		if got := c.g.enough(c.f); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestWhichFlavorIsPreferred(t *testing.T) {
	for _, c := range []struct {
		name          string
		p             admission.Preference
		better, worse grade
	}{
		{"by default the better mode, however much it borrows", "", grade{Fit, 3}, grade{Reclaim, 0}},
		{"by default then the nearer lender", "", grade{Preempt, 1}, grade{Preempt, 2}},
		{"reclaiming is better than preempting one's own", "", grade{Reclaim, 1}, grade{Preempt, 0}},
		{"if preemption is preferred the nearer lender", admission.PreemptionOverBorrowing, grade{Preempt, 0}, grade{Fit, 1}},
		{"if preemption is preferred then the better mode", admission.PreemptionOverBorrowing, grade{Fit, 1}, grade{Preempt, 1}},
		{"anything viable over no candidates", admission.PreemptionOverBorrowing, grade{Preempt, 3}, grade{NoCandidates, 0}},
		{"no candidates over no fit", "", grade{NoCandidates, 0}, grade{NoFit, 0}},
	} {
		if !c.better.betterThan(c.worse, c.p) || c.worse.betterThan(c.better, c.p) {
			t.Errorf("%s: %v is not better than %v", c.name, c.better, c.worse)
		}
		if c.better.betterThan(c.better, c.p) {
			t.Errorf("%v is better than itself", c.better)
		}
	}
}
