package quota

import (
	"slices"
	"testing"

	"switchyard.dev/worker/admission/amount"
)

func TestCohortBalances(t *testing.T) {
	gpu := FlavorResource{Flavor: "red", Resource: "gpu"}
	free := []Grant{{FlavorResource: gpu, Limits: Nominal(10)}}
	stingy := []Grant{{FlavorResource: gpu, Limits: Limits{Nominal: 10, Borrowing: amount.Unlimited, Lending: 4}}}
	tree := NewTree()
	tree.SetQueue("a", "low", free)
	tree.SetQueue("b", "low", stingy)
	tree.SetCohort("low", "top", nil)
	tree.Reserve("a", NewUsage(Use{gpu, 3}))
	tree.Reserve("b", NewUsage(Use{gpu, 8}))

	var names []string
	for _, n := range tree.Cohorts() {
		names = append(names, n.Name())
	}
	if !slices.Equal(names, []string{"low", "top"}) {
		t.Fatalf("the cohorts are %v, although top is named", names)
	}
	// b keeps 6 of its 10 to itself, but all that it uses counts.
	want := []Balance{{FlavorResource: gpu, Quota: 14, Usage: 11}}
	for _, name := range names {
		if got := tree.CohortNode(name).Balances(); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
	if got := tree.QueueNode("a").AncestorNames(); !slices.Equal(got, []string{"low", "top"}) {
		t.Errorf("above a are %v", got)
	}
	tree.SetCohort("top", "low", nil)
	if got := tree.QueueNode("a").AncestorNames(); got != nil {
		t.Errorf("above a queue below a cycle are %v", got)
	}
}
