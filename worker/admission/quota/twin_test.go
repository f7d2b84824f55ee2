package quota_test

import (
	"math/rand"
	"strings"
	"testing"

	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/quota"
)

func TestTheTreeCountsAsTheNaiveWalkDoes(t *testing.T) {
	for seed := range int64(200) {
		data := make([]byte, 300)
		rand.New(rand.NewSource(seed)).Read(data)
		countLikeTheWalk(t, data)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzTheTreeCountsAsTheNaiveWalkDoes(f *testing.F) {
	data := make([]byte, 300)
	rand.New(rand.NewSource(1)).Read(data)
	f.Add(data)
	f.Fuzz(countLikeTheWalk)
}

// countLikeTheWalk follows a script on a tree and on the facts, comparing every number after every step.
func countLikeTheWalk(t *testing.T, data []byte) {
	t.Helper()
	script := admissiontest.Script(data)
	// Quota without bounds is rare in scripts; here it is not.
	script = strings.ReplaceAll(script, "gpu=8", "gpu=unlimited")
	steps, err := admissiontest.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	tr, facts := quota.NewTree(), admissiontest.NewFacts()
	for _, step := range steps {
		held, holds := facts.Holding[step.Name]
		facts.Apply(step)
		if _, still := facts.Holding[step.Name]; holds && (!still || step.Verb == "admitted") {
			tr.Release(held.Queue, held.Usage)
		}
		apply(tr, step)
		if !compare(t, tr, facts) {
			t.Fatalf("at %q in\n%s", step.Line, script)
		}
	}
}

func compare(t *testing.T, tr *quota.Tree, facts *admissiontest.Facts) bool {
	t.Helper()
	for queue, spec := range facts.Queues {
		for _, group := range spec.Groups {
			for _, flavor := range group.Flavors {
				name := quota.FlavorResource{Flavor: flavor.Flavor, Resource: group.Resources[0]}
				compareCell(t, queue, tr.Cell(queue, name), facts.Account(name), tr.Cyclic(queue))
			}
		}
	}
	return !t.Failed()
}

func compareCell(t *testing.T, queue string, cell *quota.Cell, account admissiontest.Account, cyclic bool) {
	t.Helper()
	at := admissiontest.QueueNode(queue)
	if got := account.Cyclic(at); got != cyclic {
		t.Errorf("%s is cyclic: %v, the walk says %v", queue, cyclic, got)
	}
	if cyclic || t.Failed() {
		return
	}
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s of %s is %v, the walk says %v", what, queue, got, want)
		}
	}
	check("usage", cell.Usage(), account.Usage(at))
	check("quota", cell.Quota(), account.Quota(at))
	check("available", cell.Available(), account.Available(at))
	check("potential", cell.Potential(), account.Potential(at))
	for _, v := range []int64{1, 5, 20} {
		check("borrowing height", cell.BorrowingHeight(amountOf(v)), account.BorrowingHeight(at, amountOf(v)))
	}
	if cell.Available() > cell.Potential() {
		t.Errorf("%s has more available than it could ever have", queue)
	}
}
