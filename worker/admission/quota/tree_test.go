package quota_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

var gpu = quota.FlavorResource{Flavor: "f", Resource: "gpu"}

// buildTree builds a tree of the queues, cohorts and reservations of a script.
func buildTree(t *testing.T, script string) *quota.Tree {
	t.Helper()
	steps, err := admissiontest.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	tr := quota.NewTree()
	for _, step := range steps {
		applyStep(tr, step)
	}
	return tr
}

func applyStep(tr *quota.Tree, step admissiontest.Step) {
	switch step.Verb {
	case "queue":
		tr.SetQueue(step.Name, step.Queue.Cohort, admission.Grants(step.Queue.Groups))
	case "cohort":
		tr.SetCohort(step.Name, step.Cohort.Parent, admission.Grants(step.Cohort.Groups))
	case "admitted":
		tr.Reserve(step.Reservation.Queue, step.Reservation.Usage)
	case "delete":
		if step.ObjectKind == "queue" {
			tr.DeleteQueue(step.Name)
		} else {
			tr.DeleteCohort(step.Name)
		}
	}
}

func TestAvailable(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{
			"a queue on its own has its nominal quota",
			"queue a f gpu=8\n admitted w queue=a f/gpu=3",
			"a: available 5, potential 8",
		}, {
			"an idle cohort lends everything to whoever comes",
			"queue a cohort=x f gpu=8\n queue b cohort=x f gpu=4",
			"a: available 12, potential 12; b: available 12, potential 12",
		}, {
			"what one queue uses the others lack",
			"queue a cohort=x f gpu=8\n queue b cohort=x f gpu=4\n admitted w queue=a f/gpu=10",
			"a: available 2, potential 12; b: available 2, potential 12",
		}, {
			"a borrowing limit bounds the borrower only",
			"queue a cohort=x f gpu=8\n queue b cohort=x f gpu=4 borrow=1",
			"a: available 12, potential 12; b: available 5, potential 5",
		}, {
			"a lending limit keeps the rest for its owner",
			"queue a cohort=x f gpu=8 lend=2\n queue b cohort=x f gpu=4",
			"a: available 12, potential 12; b: available 6, potential 6",
		}, {
			"what the owner keeps for itself costs the others nothing",
			"queue a cohort=x f gpu=8 lend=2\n queue b cohort=x f gpu=4\n admitted w queue=a f/gpu=6",
			"a: available 6, potential 12; b: available 6, potential 6",
		}, {
			"a cohort lends quota of its own",
			"cohort x f gpu=5\n queue a cohort=x f gpu=0\n queue b cohort=x f gpu=1",
			"a: available 6, potential 6; b: available 6, potential 6",
		}, {
			"quota flows through a cohort without any",
			"cohort x parent=top\n cohort y parent=top\n queue a cohort=x f gpu=3\n queue b cohort=y f gpu=4",
			"a: available 7, potential 7; b: available 7, potential 7",
		}, {
			"limits of a cohort hold for its members together",
			"cohort x parent=top f gpu=0 borrow=2 lend=1\n queue a cohort=x f gpu=3\n queue b cohort=top f gpu=10\n admitted w queue=a f/gpu=1",
			"a: available 4, potential 5; b: available 11, potential 11",
		}, {
			"a lowered quota leaves less than nothing",
			"queue a cohort=x f gpu=8\n queue b cohort=x f gpu=4\n admitted w queue=a f/gpu=12\n queue a cohort=x f gpu=2",
			"a: available -6, potential 6; b: available -6, potential 6",
		}, {
			"unlimited stays unlimited whatever is used",
			"queue a cohort=x f gpu=unlimited lend=5\n queue b cohort=x f gpu=1\n admitted w queue=a f/gpu=100",
			"a: available <unlimited>, potential <unlimited>; b: available 6, potential 6",
		}, {
			"a queue that leaves takes quota and usage along",
			"queue a cohort=x f gpu=8\n queue b cohort=x f gpu=4\n admitted w queue=a f/gpu=10\n queue a f gpu=8",
			"a: available -2, potential 8; b: available 4, potential 4",
		}, {
			"members of a deleted cohort stay together",
			"cohort x parent=top f gpu=5\n queue a cohort=x f gpu=1\n queue b cohort=x f gpu=1\n queue c cohort=top f gpu=7\n delete cohort x",
			"a: available 2, potential 2; b: available 2, potential 2; c: available 7, potential 7",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := buildTree(t, c.script)
			var parts []string
			for _, name := range []string{"a", "b", "c"} {
				if cell := tr.Cell(name, gpu); cell != nil {
					parts = append(parts, fmt.Sprintf("%s: available %s, potential %s", name,
						amount.Format("gpu", cell.Available()), amount.Format("gpu", cell.PotentialAvailable())))
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(parts, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBorrowingHeight(t *testing.T) {
	tr := buildTree(t, `
		cohort x parent=y
		cohort y parent=z f gpu=3
		queue a cohort=x f gpu=2
		queue b cohort=x f gpu=2
		queue c cohort=y f gpu=2
		queue d cohort=z f gpu=10
		admitted w queue=b f/gpu=1`)
	for v, want := range map[amount.Amount]int{1: 0, 2: 0, 3: 1, 4: 2, 8: 2, 9: 3, 18: 3} {
		if got := tr.Cell("a", gpu).BorrowingHeight(v); got != want {
			t.Errorf("%d more borrows at height %d, want %d", v, got, want)
		}
	}
	if got := tr.Cell("d", gpu).BorrowingHeight(11); got != 3 {
		t.Errorf("the height of a cohort counts from its deepest queue: got %d", got)
	}
}

func TestQueuesBelowACycleAreCyclicUntilItIsBroken(t *testing.T) {
	tr := buildTree(t, `
		cohort x parent=y
		cohort y parent=x
		cohort z parent=y
		queue a cohort=z f gpu=2
		queue b cohort=x f gpu=2
		queue c cohort=other f gpu=2`)
	if !tr.IsInCycle("a") || !tr.IsInCycle("b") || tr.IsInCycle("c") {
		t.Fatal("a and b are below the cycle, c is not")
	}
	if diff := cmp.Diff([]string{"a", "b"}, tr.QueuesInTree("a")); diff != "" {
		t.Error(diff)
	}
	tr.Reserve("a", quota.NewUsage(quota.Use{FlavorResource: gpu, Amount: 1}))
	tr.SetCohort("y", "", nil)
	if tr.IsInCycle("a") || tr.IsInCycle("b") {
		t.Error("the cycle is broken")
	}
	if got := tr.Cell("b", gpu).Available(); got != 3 {
		t.Errorf("b has 4 less the 1 of a, not %d", got)
	}
}

func TestACohortThatIsItsOwnParentIsACycle(t *testing.T) {
	tr := buildTree(t, "cohort x parent=x f gpu=2\n queue a cohort=x f gpu=2")
	if !tr.IsInCycle("a") {
		t.Error("nobody bounds a")
	}
}

func TestUsageOutlivesItsQueue(t *testing.T) {
	tr := buildTree(t, "admitted w queue=a f/gpu=3\n queue a cohort=x f gpu=4\n queue b cohort=x f gpu=4")
	if got := tr.Cell("b", gpu).Available(); got != 5 {
		t.Errorf("usage booked before the queue was set counts: available %d", got)
	}
	tr.DeleteQueue("a")
	if got := tr.Cell("b", gpu).Available(); got != 4 {
		t.Errorf("usage of a deleted queue is nobody's loss: available %d", got)
	}
	tr.SetQueue("a", "x", []quota.Grant{{FlavorResource: gpu, Limits: quota.Nominal(4)}})
	if got := tr.Cell("b", gpu).Available(); got != 5 {
		t.Errorf("it counts again when the queue is back: available %d", got)
	}
}

func TestQueuesInTree(t *testing.T) {
	tr := buildTree(t, "cohort x parent=top\n queue c cohort=top\n queue b cohort=x\n queue a cohort=x\n queue lone")
	for _, c := range []struct{ got, want []string }{
		{tr.QueuesInTree("a"), []string{"a", "b", "c"}},
		{tr.QueuesInCohortTree("x"), []string{"a", "b", "c"}},
		{tr.QueuesInTree("lone"), []string{"lone"}},
		{tr.QueuesInTree("unknown"), nil},
		{tr.QueuesInCohortTree("unknown"), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestConfigurationCannotChangeDuringATransaction(t *testing.T) {
	tr := buildTree(t, "queue a f gpu=4")
	tx := tr.Begin()
	defer func() {
		if recover() == nil {
			t.Error("setting a queue inside a transaction goes unnoticed")
		}
	}()
	defer tx.Rollback()
	tr.SetQueue("a", "", nil)
}
