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
		g    flavorGrade
		want bool
	}{
		{"at a fit without borrowing always", picky, flavorGrade{Fit, 0}, true},
		{"at a fit that borrows by default", defaults, flavorGrade{Fit, 2}, true},
		{"not at a fit that borrows if the queue would rather try the next", picky, flavorGrade{Fit, 1}, false},
		{"not at preemption by default", defaults, flavorGrade{Reclaim, 0}, false},
		{"at preemption if the queue says so", eager, flavorGrade{Preempt, 0}, true},
		{"at preemption that borrows if both may stop", eager, flavorGrade{Preempt, 1}, true},
		{"not at preemption that borrows if borrowing may not", pickyAndEager, flavorGrade{Preempt, 1}, false},
		{"never where nothing can come of it", eager, flavorGrade{NoCandidates, 0}, false},
		{"never at no fit", eager, flavorGrade{NoFit, 0}, false},
	} {
		if got := c.g.canStopSearch(c.f); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestWhichFlavorIsPreferred(t *testing.T) {
	for _, c := range []struct {
		name          string
		p             admission.FlavorPreference
		better, worse flavorGrade
	}{
		{"by default the better mode, however much it borrows", "", flavorGrade{Fit, 3}, flavorGrade{Reclaim, 0}},
		{"by default then the nearer lender", "", flavorGrade{Preempt, 1}, flavorGrade{Preempt, 2}},
		{"reclaiming is better than preempting one's own", "", flavorGrade{Reclaim, 1}, flavorGrade{Preempt, 0}},
		{"if preemption is preferred the nearer lender", admission.PreemptionOverBorrowing, flavorGrade{Preempt, 0}, flavorGrade{Fit, 1}},
		{"if preemption is preferred then the better mode", admission.PreemptionOverBorrowing, flavorGrade{Fit, 1}, flavorGrade{Preempt, 1}},
		{"anything viable over no candidates", admission.PreemptionOverBorrowing, flavorGrade{Preempt, 3}, flavorGrade{NoCandidates, 0}},
		{"no candidates over no fit", "", flavorGrade{NoCandidates, 0}, flavorGrade{NoFit, 0}},
	} {
		if !c.better.isBetterThan(c.worse, c.p) || c.worse.isBetterThan(c.better, c.p) {
			t.Errorf("%s: %v is not better than %v", c.name, c.better, c.worse)
		}
		if c.better.isBetterThan(c.better, c.p) {
			t.Errorf("%v is better than itself", c.better)
		}
	}
}
