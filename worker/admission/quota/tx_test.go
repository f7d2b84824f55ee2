package quota_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

func amountOf(v int64) amount.Amount { return amount.Amount(v) }

func gpuUsage(v int64) quota.Usage {
	return quota.NewUsage(quota.Use{FlavorResource: gpu, Amount: amountOf(v)})
}

const threeLevels = `
	cohort x parent=top f gpu=2 lend=1
	queue a cohort=x f gpu=4 lend=2
	queue b cohort=x f gpu=4 borrow=1
	queue c cohort=top f gpu=4`

func TestATrialIsVisibleUntilItIsRolledBack(t *testing.T) {
	tr := buildTree(t, threeLevels)
	before := quotaText(tr)
	tx := tr.Begin()
	tx.Reserve("a", gpuUsage(5))
	tx.Release("a", gpuUsage(1))
	if got := tr.Cell("a", gpu).Usage(); got != 4 {
		t.Errorf("a uses %d during the trial", got)
	}
	tx.Rollback()
	if diff := cmp.Diff(before, quotaText(tr)); diff != "" {
		t.Error(diff)
	}
}

func TestACommittedTrialStays(t *testing.T) {
	tr, other := buildTree(t, threeLevels), buildTree(t, threeLevels)
	tx := tr.Begin()
	tx.Reserve("a", gpuUsage(5))
	tx.Commit()
	other.Reserve("a", gpuUsage(5))
	if diff := cmp.Diff(quotaText(other), quotaText(tr)); diff != "" {
		t.Error(diff)
	}
}

func TestTrialsNest(t *testing.T) {
	tr := buildTree(t, threeLevels)
	outer := tr.Begin()
	outer.Reserve("a", gpuUsage(3))
	before := quotaText(tr)
	inner := tr.Begin()
	inner.Reserve("b", gpuUsage(3))
	inner.Rollback()
	if diff := cmp.Diff(before, quotaText(tr)); diff != "" {
		t.Error(diff)
	}
	outer.Rollback()
}

func TestHugeAmountsAreReleasedExactly(t *testing.T) {
	tr := buildTree(t, threeLevels)
	before := quotaText(tr)
	for range 5 {
		tr.Reserve("a", gpuUsage(math.MaxInt64))
	}
	if got := tr.Cell("c", gpu).Available(); got >= 0 {
		t.Errorf("c still has %d", got)
	}
	for range 5 {
		tr.Release("a", gpuUsage(math.MaxInt64))
	}
	if diff := cmp.Diff(before, quotaText(tr)); diff != "" {
		t.Error(diff)
	}
}

func TestAmountsThatAreNotPositiveAreSkipped(t *testing.T) {
	tr := buildTree(t, threeLevels)
	before := quotaText(tr)
	tr.Reserve("a", gpuUsage(-7))
	tr.Reserve("a", gpuUsage(0))
	if diff := cmp.Diff(before, quotaText(tr)); diff != "" {
		t.Error(diff)
	}
}

// quotaText is every number of the three queues.
func quotaText(tr *quota.Tree) []string {
	var lines []string
	for _, queue := range []string{"a", "b", "c"} {
		cell := tr.Cell(queue, gpu)
		lines = append(lines, fmt.Sprint(queue, cell.Usage(), cell.Available(), cell.PotentialAvailable(), cell.BorrowingHeight(3), tr.QueueUsage(queue)))
	}
	return lines
}

// FuzzRollbackAndReleaseRestoreUsage books at random, then undoes it in both ways.
func FuzzRollbackAndReleaseRestoreUsage(f *testing.F) {
	for seed := range int64(20) {
		data := make([]byte, 40)
		rand.New(rand.NewSource(seed)).Read(data)
		f.Add(data, seed*math.MaxInt64/20)
	}
	f.Fuzz(func(t *testing.T, data []byte, scale int64) {
		tr := buildTree(t, threeLevels)
		for i := 0; i+2 < len(data)/2; i += 2 {
			tr.Reserve(string('a'+data[i]%3), gpuUsage(int64(data[i+1])))
		}
		before := quotaText(tr)
		tx := tr.Begin()
		for i := len(data) / 2; i+1 < len(data); i += 2 {
			tx.Reserve(string('a'+data[i]%3), gpuUsage(int64(data[i+1]%16)*max(1, scale)))
		}
		tx.Rollback()
		if diff := cmp.Diff(before, quotaText(tr)); diff != "" {
			t.Fatalf("rolling back changed\n%s", diff)
		}
		order := rand.New(rand.NewSource(scale)).Perm(len(data) / 2)
		for i := len(data) / 2; i+1 < len(data); i += 2 {
			tr.Reserve(string('a'+data[i]%3), gpuUsage(int64(data[i+1]%16)*max(1, scale)))
		}
		// Released in any order, not just backwards.
		for _, k := range order {
			if i := len(data)/2 + 2*k; i+1 < len(data) {
				tr.Release(string('a'+data[i]%3), gpuUsage(int64(data[i+1]%16)*max(1, scale)))
			}
		}
		if diff := cmp.Diff(before, quotaText(tr)); diff != "" {
			t.Fatalf("releasing what was reserved changed\n%s", diff)
		}
	})
}

func TestUsageMergesTheSameFlavorResource(t *testing.T) {
	other := quota.FlavorResource{Flavor: "e", Resource: "gpu"}
	got := quota.NewUsage(quota.Use{FlavorResource: gpu, Amount: 1}, quota.Use{FlavorResource: other, Amount: 5},
		quota.Use{FlavorResource: gpu, Amount: 2})
	want := quota.Usage{{FlavorResource: other, Amount: 5}, {FlavorResource: gpu, Amount: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !gpuUsage(2).IsWithin(got) || gpuUsage(4).IsWithin(got) || got.IsWithin(gpuUsage(9)) || !gpuUsage(0).IsWithin(nil) {
		t.Error("within compares every flavor-resource")
	}
}

func BenchmarkReserveAndRelease(b *testing.B) {
	tr := quota.NewTree()
	tr.SetCohort("x", "top", nil)
	for i := range 1000 {
		tr.SetQueue(fmt.Sprint("q", i), "x", []quota.Grant{{FlavorResource: gpu, Limits: quota.Nominal(8)}})
	}
	taken := gpuUsage(3)
	for b.Loop() {
		tr.Reserve("q7", taken)
		if _, fits := tr.Fit("q8", taken); !fits {
			b.Fatal("it must fit")
		}
		tr.Release("q7", taken)
	}
}
