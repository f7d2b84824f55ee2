package quota_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"testing"

	"switchyard.dev/worker/admission/quota"
)

// userOf is a tree in which queue a, of the given weight, uses so much of nothing, in a cohort that can lend so much.
func userOf(used, lendable int64, w quota.Weight) *quota.Tree {
	tr := quota.NewTree()
	tr.SetQueue("a", "x", []quota.Grant{{FlavorResource: gpu, Limits: quota.Nominal(0)}})
	tr.SetQueue("b", "x", []quota.Grant{{FlavorResource: gpu, Limits: quota.Nominal(amountOf(lendable))}})
	tr.WeighQueue("a", w)
	tr.Reserve("a", use(used))
	return tr
}

func TestWhatAShareIs(t *testing.T) {
	one, half := quota.WeightOf(quota.One), quota.WeightOf(quota.One/2)
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
		{"without weight it is infinite", 1, 8, quota.WeightOf(0), math.MaxInt64},
		{"without weight and usage it is nothing", 0, 8, quota.WeightOf(0), 0},
		{"borrowed from nobody it is large", 2, 0, one, 2000},
		{"of an unlimited lot it is nothing", 7, math.MaxInt64, one, 0},
		{"of an unlimited lot without weight it is infinite", 7, math.MaxInt64, quota.WeightOf(0), math.MaxInt64},
		{"absurd usage saturates", math.MaxInt64, 1, quota.WeightOf(1), math.MaxInt64},
	} {
		s := userOf(c.used, c.lendable, c.weight).QueueNode("a").Share()
		if got := s.Status(); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
		if infinite := c.weight == quota.WeightOf(0) && c.used > 0; s.Infinite() != infinite {
			t.Errorf("%s: it is infinite: %v", c.name, s.Infinite())
		}
	}
}

func TestTheDominantResourceIsTheOneOfWhichMostIsBorrowed(t *testing.T) {
	tr := tree(t, `
		queue a cohort=x f gpu=1 cpu=1m g gpu=1 cpu=1m
		queue b cohort=x f gpu=7 cpu=99m g gpu=7 cpu=99m`)
	for _, u := range []quota.Use{
		{FlavorResource: gpu, Amount: 3}, {FlavorResource: quota.FlavorResource{Flavor: "g", Resource: "gpu"}, Amount: 3},
		{FlavorResource: quota.FlavorResource{Flavor: "f", Resource: "cpu"}, Amount: 41},
	} {
		tr.Reserve("a", quota.NewUsage(u))
	}
	// 2+2 of 8+8 gpus, 40 of 200 thousandths of cpu.
	if got := tr.QueueNode("a").Share().Status(); got != 250 {
		t.Errorf("the share is %d", got)
	}
}

func TestARootHasNoShare(t *testing.T) {
	tr := tree(t, "queue a f gpu=1\n queue b cohort=x f gpu=1")
	tr.Reserve("a", use(4))
	tr.Reserve("b", use(4))
	if !tr.QueueNode("a").Share().Zero() || !tr.CohortNode("x").Share().Zero() || tr.QueueNode("b").Share().Status() != 3000 {
		t.Error("there is nobody to borrow from above a root")
	}
}

func TestACohortsShareIsWhatAllBelowItBorrow(t *testing.T) {
	tr := tree(t, "cohort x parent=top f gpu=1\n cohort top f gpu=8\n queue a cohort=x f gpu=1\n queue b cohort=x f gpu=2")
	tr.WeighCohort("x", quota.WeightOf(2*quota.One))
	tr.Reserve("a", use(8))
	// 8-4 borrowed of 12, weight 2.
	if got := tr.CohortNode("x").Share().Status(); got != 167 {
		t.Errorf("the share is %d", got)
	}
}

func TestWhatCouldBeLentDoesNotDependOnWhoAsked(t *testing.T) {
	tr := tree(t, "cohort x parent=top\n cohort top f gpu=8 g gpu=8\n queue a cohort=x f gpu=0\n queue b cohort=x f gpu=0")
	tr.Reserve("a", use(4))
	before := tr.QueueNode("a").Share()
	tr.Reserve("b", quota.NewUsage(quota.Use{FlavorResource: quota.FlavorResource{Flavor: "g", Resource: "gpu"}, Amount: 1}))
	if after := tr.QueueNode("a").Share(); after.Compare(before) != 0 || after.Status() != 250 {
		t.Errorf("the share was %d and is %d", before.Status(), after.Status())
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
			s := userOf(d.used, d.lendable, quota.WeightOf(d.weight)).QueueNode("a").Share()
			return s, new(big.Rat).SetFrac(
				new(big.Int).Mul(big.NewInt(d.used), big.NewInt(quota.One)),
				new(big.Int).Mul(big.NewInt(max(d.lendable, 1)), big.NewInt(max(d.weight, 1))),
			)
		}
		s, x := share(a)
		r, y := share(b)
		want := x.Cmp(y)
		switch {
		case s.Infinite() && r.Infinite():
			want = big.NewRat(a.used, max(a.lendable, 1)).Cmp(big.NewRat(b.used, max(b.lendable, 1)))
		case s.Infinite():
			want = 1
		case r.Infinite():
			want = -1
		}
		if got := s.Compare(r); got != want || r.Compare(s) != -want {
			t.Fatalf("%+v and %+v compare as %d, want %d", a, b, got, want)
		}
	}
}

func TestATrialIsInvisibleToVersions(t *testing.T) {
	tr := tree(t, threeLevels)
	before := tr.Version("a")
	tx := tr.Trial()
	tx.Reserve("a", use(5))
	tx.Release("a", use(2))
	tx.Rollback()
	if tr.Version("a") != before {
		t.Error("somebody would look again for nothing")
	}
}

func TestARollbackCountsAsARelease(t *testing.T) {
	tr := tree(t, threeLevels)
	tx := tr.Begin()
	tx.Reserve("a", use(5))
	during := tr.Version("c")
	tx.Rollback()
	if tr.Version("c").OnlyTaken(during) {
		t.Error("what did not fit in between may fit now")
	}
}

func TestATransactionGoesBackToAMark(t *testing.T) {
	tr, other := tree(t, threeLevels), tree(t, threeLevels)
	tx := tr.Begin()
	tx.Reserve("a", use(5))
	mark := tx.Mark()
	tx.Reserve("b", use(2))
	tx.Release("a", use(4))
	tx.Undo(mark)
	tx.Commit()
	other.Reserve("a", use(5))
	if a, b := fmt.Sprint(picture(tr)), fmt.Sprint(picture(other)); a != b {
		t.Errorf("got %s, want %s", a, b)
	}
}

func TestACommitInsideIsUndoneByTheRollbackAround(t *testing.T) {
	tr := tree(t, threeLevels)
	before := fmt.Sprint(picture(tr))
	outer := tr.Begin()
	inner := tr.Begin()
	inner.Reserve("a", use(5))
	inner.Commit()
	outer.Rollback()
	if after := fmt.Sprint(picture(tr)); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

func TestACellIsBelowItsParentOnce(t *testing.T) {
	tr := tree(t, "cohort x parent=top\n queue a cohort=x f gpu=1\n queue b cohort=x f gpu=1\n queue c cohort=top g gpu=1")
	cell := tr.Cell("a", gpu).Above()
	if n := len(cell.Below()); n != 2 {
		t.Errorf("x has %d cells below", n)
	}
	if n := len(cell.Above().Below()); n != 1 {
		t.Errorf("top has %d cells below", n)
	}
}

func TestQuestionsAndTrialsAllocateNothing(t *testing.T) {
	tr := tree(t, threeLevels)
	taken, cell, node := use(2), tr.Cell("a", gpu), tr.QueueNode("a")
	node.Share()
	for name, ask := range map[string]func(){
		"Available": func() { cell.Available() },
		"Fit":       func() { tr.Fit("a", taken) },
		"Share":     func() { node.Share() },
		"a trial": func() {
			tx := tr.Trial()
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

func BenchmarkTheSharesOfAThousandQueues(b *testing.B) {
	tr := quota.NewTree()
	for i := range 1000 {
		tr.SetQueue(fmt.Sprint("q", i), "x", []quota.Grant{
			{FlavorResource: gpu, Limits: quota.Nominal(1)},
			{FlavorResource: quota.FlavorResource{Flavor: "f", Resource: "cpu"}, Limits: quota.Nominal(1)},
		})
		tr.Reserve(fmt.Sprint("q", i), use(int64(i)%7))
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
		if greatest.Status() != 5 {
			b.Fatal(greatest.Status())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/share")
}
