package quota_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"testing"

	"switchyard.dev/worker/admission/quota"
)

// treeWithUsage is a tree in which queue a, of the given weight, uses so much of nothing, in a cohort that can lend so much.
func treeWithUsage(used, lendable int64, w quota.Weight) *quota.Tree {
	tr := quota.NewTree()
	tr.SetQueue("a", "x", []quota.Grant{{FlavorResource: gpu, Limits: quota.Nominal(0)}})
	tr.SetQueue("b", "x", []quota.Grant{{FlavorResource: gpu, Limits: quota.Nominal(amountOf(lendable))}})
	tr.SetQueueWeight("a", w)
	tr.Reserve("a", gpuUsage(used))
	return tr
}

func TestShare(t *testing.T) {
	one, half := quota.NewWeight(quota.UnitWeight), quota.NewWeight(quota.UnitWeight/2)
	for _, c := range []struct {
		name           string
		used, lendable int64
		weight         quota.Weight
		want           int64
	}{
		{"nothing without usage", 0, 8, one, 0},
		{"what is borrowed in thousandths of what could be lent", 2, 8, one, 250},
		{"rounded up", 1, 3, one, 334},
		{"twice as much at half the weight", 2, 8, half, 500},
		{"the default weight is one", 2, 8, quota.Weight{}, 250},
		{"without weight it is infinite", 1, 8, quota.NewWeight(0), math.MaxInt64},
		{"without weight and usage it is nothing", 0, 8, quota.NewWeight(0), 0},
		{"borrowed from nobody it is large", 2, 0, one, 2000},
		{"of an unlimited lot it is nothing", 7, math.MaxInt64, one, 0},
		{"of an unlimited lot without weight it is infinite", 7, math.MaxInt64, quota.NewWeight(0), math.MaxInt64},
		{"absurd usage saturates", math.MaxInt64, 1, quota.NewWeight(1), math.MaxInt64},
	} {
		s := treeWithUsage(c.used, c.lendable, c.weight).QueueNode("a").Share()
		if got := s.WeightedShare(); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
		if infinite := c.weight == quota.NewWeight(0) && c.used > 0; s.IsInfinite() != infinite {
			t.Errorf("%s: it is infinite: %v", c.name, s.IsInfinite())
		}
	}
}

func TestTheMostBorrowedResourceIsDominant(t *testing.T) {
	tr := buildTree(t, `
		queue a cohort=x f gpu=1 cpu=1m g gpu=1 cpu=1m
		queue b cohort=x f gpu=7 cpu=99m g gpu=7 cpu=99m`)
	for _, u := range []quota.Use{
		{FlavorResource: gpu, Amount: 3}, {FlavorResource: quota.FlavorResource{Flavor: "g", Resource: "gpu"}, Amount: 3},
		{FlavorResource: quota.FlavorResource{Flavor: "f", Resource: "cpu"}, Amount: 41},
	} {
		tr.Reserve("a", quota.NewUsage(u))
	}
	// 2+2 of 8+8 gpus, 40 of 200 thousandths of cpu.
	if got := tr.QueueNode("a").Share().WeightedShare(); got != 250 {
		t.Errorf("the share is %d", got)
	}
}

func TestARootHasNoShare(t *testing.T) {
	tr := buildTree(t, "queue a f gpu=1\n queue b cohort=x f gpu=1")
	tr.Reserve("a", gpuUsage(4))
	tr.Reserve("b", gpuUsage(4))
	if !tr.QueueNode("a").Share().IsZero() || !tr.CohortNode("x").Share().IsZero() || tr.QueueNode("b").Share().WeightedShare() != 3000 {
		t.Error("there is nobody to borrow from above a root")
	}
}

func TestCohortShareCoversItsSubtree(t *testing.T) {
	tr := buildTree(t, "cohort x parent=top f gpu=1\n cohort top f gpu=8\n queue a cohort=x f gpu=1\n queue b cohort=x f gpu=2")
	tr.SetCohortWeight("x", quota.NewWeight(2*quota.UnitWeight))
	tr.Reserve("a", gpuUsage(8))
	// 8-4 borrowed of 12, weight 2.
	if got := tr.CohortNode("x").Share().WeightedShare(); got != 167 {
		t.Errorf("the share is %d", got)
	}
}

func TestLendableQuotaDoesNotDependOnCellsInUse(t *testing.T) {
	tr := buildTree(t, "cohort x parent=top\n cohort top f gpu=8 g gpu=8\n queue a cohort=x f gpu=0\n queue b cohort=x f gpu=0")
	tr.Reserve("a", gpuUsage(4))
	before := tr.QueueNode("a").Share()
	tr.Reserve("b", quota.NewUsage(quota.Use{FlavorResource: quota.FlavorResource{Flavor: "g", Resource: "gpu"}, Amount: 1}))
	if after := tr.QueueNode("a").Share(); after.Compare(before) != 0 || after.WeightedShare() != 250 {
		t.Errorf("the share was %d and is %d", before.WeightedShare(), after.WeightedShare())
	}
}

func TestSharesCompareAsRationalNumbersDo(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	number := func() int64 { return random.Int63() >> random.Intn(63) }
	for range 20_000 {
		type drawn struct{ used, lendable, weight int64 }
		a, b := drawn{number(), number(), number()}, drawn{number(), number(), number()}
		if random.Intn(4) == 0 {
			b = drawn{a.used, a.lendable, a.weight}
		}
		if random.Intn(8) == 0 {
			a.weight = 0
		}
		share := func(d drawn) (quota.Share, *big.Rat) {
			s := treeWithUsage(d.used, d.lendable, quota.NewWeight(d.weight)).QueueNode("a").Share()
			return s, new(big.Rat).SetFrac(
				new(big.Int).Mul(big.NewInt(d.used), big.NewInt(quota.UnitWeight)),
				new(big.Int).Mul(big.NewInt(max(d.lendable, 1)), big.NewInt(max(d.weight, 1))),
			)
		}
		s, x := share(a)
		r, y := share(b)
		want := x.Cmp(y)
		switch {
		case s.IsInfinite() && r.IsInfinite():
			want = big.NewRat(a.used, max(a.lendable, 1)).Cmp(big.NewRat(b.used, max(b.lendable, 1)))
		case s.IsInfinite():
			want = 1
		case r.IsInfinite():
			want = -1
		}
		if got := s.Compare(r); got != want || r.Compare(s) != -want {
			t.Fatalf("%+v and %+v compare as %d, want %d", a, b, got, want)
		}
	}
}

func TestATrialIsInvisibleToVersions(t *testing.T) {
	tr := buildTree(t, threeLevels)
	before := tr.Version("a")
	tx := tr.BeginTrial()
	tx.Reserve("a", gpuUsage(5))
	tx.Release("a", gpuUsage(2))
	tx.Rollback()
	if tr.Version("a") != before {
		t.Error("somebody would look again for nothing")
	}
}

func TestARollbackCountsAsARelease(t *testing.T) {
	tr := buildTree(t, threeLevels)
	tx := tr.Begin()
	tx.Reserve("a", gpuUsage(5))
	during := tr.Version("c")
	tx.Rollback()
	if tr.Version("c").OnlyReservedSince(during) {
		t.Error("what did not fit in between may fit now")
	}
}

func TestUndoRestoresAMark(t *testing.T) {
	tr, other := buildTree(t, threeLevels), buildTree(t, threeLevels)
	tx := tr.Begin()
	tx.Reserve("a", gpuUsage(5))
	mark := tx.Mark()
	tx.Reserve("b", gpuUsage(2))
	tx.Release("a", gpuUsage(4))
	tx.Undo(mark)
	tx.Commit()
	other.Reserve("a", gpuUsage(5))
	if a, b := fmt.Sprint(quotaText(tr)), fmt.Sprint(quotaText(other)); a != b {
		t.Errorf("got %s, want %s", a, b)
	}
}

func TestAnOuterRollbackUndoesAnInnerCommit(t *testing.T) {
	tr := buildTree(t, threeLevels)
	before := fmt.Sprint(quotaText(tr))
	outer := tr.Begin()
	inner := tr.Begin()
	inner.Reserve("a", gpuUsage(5))
	inner.Commit()
	outer.Rollback()
	if after := fmt.Sprint(quotaText(tr)); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

func TestACellIsOneChildOfItsParent(t *testing.T) {
	tr := buildTree(t, "cohort x parent=top\n queue a cohort=x f gpu=1\n queue b cohort=x f gpu=1\n queue c cohort=top g gpu=1")
	cell := tr.Cell("a", gpu).Parent()
	if n := len(cell.Children()); n != 2 {
		t.Errorf("x has %d cells below", n)
	}
	if n := len(cell.Parent().Children()); n != 1 {
		t.Errorf("top has %d cells below", n)
	}
}

func TestQueriesAndTrialsAllocateNothing(t *testing.T) {
	tr := buildTree(t, threeLevels)
	taken, cell, node := gpuUsage(2), tr.Cell("a", gpu), tr.QueueNode("a")
	node.Share()
	for name, ask := range map[string]func(){
		"Available": func() { cell.Available() },
		"Fit":       func() { tr.Fit("a", taken) },
		"Share":     func() { node.Share() },
		"a trial": func() {
			tx := tr.BeginTrial()
			tx.Reserve("a", taken)
			node.Share()
			tx.Rollback()
		},
	} {
		if n := testing.AllocsPerRun(100, ask); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkSharesOf1000Queues(b *testing.B) {
	tr := quota.NewTree()
	for i := range 1000 {
		tr.SetQueue(fmt.Sprint("q", i), "x", []quota.Grant{
			{FlavorResource: gpu, Limits: quota.Nominal(1)},
			{FlavorResource: quota.FlavorResource{Flavor: "f", Resource: "cpu"}, Limits: quota.Nominal(1)},
		})
		tr.Reserve(fmt.Sprint("q", i), gpuUsage(int64(i)%7))
	}
	nodes := tr.CohortNode("x").Children()
	b.ReportAllocs()
	for b.Loop() {
		greatest := quota.Share{}
		for _, n := range nodes {
			if s := n.Share(); s.Compare(greatest) > 0 {
				greatest = s
			}
		}
		if greatest.WeightedShare() != 5 {
			b.Fatal(greatest.WeightedShare())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/share")
}
