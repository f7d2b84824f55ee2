package quota_test

import (
	"math/rand"
	"strings"
	"testing"

	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/quota"
)

func TestTreeMatchesNaiveQuota(t *testing.T) {
	for seed := range int64(200) {
		data := make([]byte, 300)
		rand.New(rand.NewSource(seed)).Read(data)
		compareWithNaiveQuota(t, data)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzTreeMatchesNaiveQuota(f *testing.F) {
	data := make([]byte, 300)
	rand.New(rand.NewSource(1)).Read(data)
	f.Add(data)
	f.Fuzz(compareWithNaiveQuota)
}

// compareWithNaiveQuota follows a script on a tree and on the facts, comparing every number after every step.
func compareWithNaiveQuota(t *testing.T, data []byte) {
	t.Helper()
	script := admissiontest.GenerateScript(data)
	// Quota without bounds is rare in scripts; here it is not.
	script = strings.ReplaceAll(script, "gpu=8", "gpu=unlimited")
	steps, err := admissiontest.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	tr, facts := quota.NewTree(), admissiontest.NewFacts()
	for _, step := range steps {
		held, holds := facts.Reservations[step.Name]
		facts.Apply(step)
		if _, still := facts.Reservations[step.Name]; holds && (!still || step.Verb == "admitted") {
			tr.Release(held.Queue, held.Usage)
		}
		applyStep(tr, step)
		if !compareCells(t, tr, facts) {
			t.Fatalf("at %q in\n%s", step.Line, script)
		}
	}
}

func compareCells(t *testing.T, tr *quota.Tree, facts *admissiontest.Facts) bool {
	t.Helper()
	for queue, spec := range facts.Queues {
		for _, group := range spec.Groups {
			for _, flavor := range group.Flavors {
				name := quota.FlavorResource{Flavor: flavor.Flavor, Resource: group.Resources[0]}
				compareCell(t, queue, tr.Cell(queue, name), facts.NaiveQuota(name), tr.IsInCycle(queue))
			}
		}
	}
	return !t.Failed()
}

func compareCell(t *testing.T, queue string, cell *quota.Cell, account admissiontest.NaiveQuota, cyclic bool) {
	t.Helper()
	at := admissiontest.QueueNode(queue)
	if got := account.IsInCycle(at); got != cyclic {
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
	check("quota", cell.SubtreeQuota(), account.SubtreeQuota(at))
	check("available", cell.Available(), account.Available(at))
	check("potential", cell.PotentialAvailable(), account.PotentialAvailable(at))
	for _, v := range []int64{1, 5, 20} {
		check("borrowing height", cell.BorrowingHeight(amountOf(v)), account.BorrowingHeight(at, amountOf(v)))
	}
	if cell.Available() > cell.PotentialAvailable() {
		t.Errorf("%s has more available than it could ever have", queue)
	}
}
