package admission_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
)

func namesOf(list *admission.PendingList) []string {
	var names []string
	for i := range list.Len() {
		names = append(names, list.At(i).Name)
	}
	return names
}

func TestPendingOrder(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		cycle  *cycle.Options
		want   []string
	}{
		"by priority, then age": {`flavor f
			queue a f gpu=4
			pending young queue=a gpu=8 at=9
			pending old queue=a gpu=8 at=1
			pending urgent queue=a gpu=8 at=5 prio=7
			pending elsewhere queue=b gpu=8`, nil, []string{"urgent", "old", "young"}},
		"inadmissible ones and those in a backoff keep their place": {`flavor f
			queue a f gpu=4
			pending large queue=a gpu=8 at=1
			pending later queue=a gpu=9 at=2 after=50
			pending other queue=a gpu=7 at=3`, &cycle.Options{}, []string{"large", "later", "other"}},
		"by recent usage before anything else": {`flavor f
			queue a usage-based f gpu=4
			usage hungry 7
			pending first queue=a lq=hungry gpu=8 at=1 prio=100
			pending delayed queue=a lq=hungry gpu=8 at=2 prio=200 after=50
			pending second queue=a lq=modest gpu=8 at=9`, nil, []string{"second", "delayed", "first"}},
		"who waits for its victims goes first": {`flavor f
			queue a preempt=LowerPriority f gpu=4
			admitted victim queue=a prio=0 f/gpu=4
			pending preemptor queue=a prio=5 gpu=4 at=5
			cycle
			pending better queue=a prio=9 gpu=9 at=6`, nil, []string{"preemptor", "better"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := buildSnapshot(t, c.script)
			if c.cycle != nil {
				cycle.Run(s, admissiontest.TimeAt(10), *c.cycle)
			}
			if diff := gocmp.Diff(c.want, namesOf(takePending(s, "a").List(nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What was taken is not changed by what happens afterwards, since it is put in order while others go on.
func TestPendingOrderIsOfOneMoment(t *testing.T) {
	s := buildSnapshot(t, `flavor f
		queue a f gpu=4
		pending x queue=a gpu=8 at=1
		pending y queue=a gpu=8 at=2`)
	taken := takePending(s, "a")
	s.Remove(admissiontest.Key("x"))
	s.Push(admission.Workload{Key: admissiontest.Key("z"), UID: "z", Queue: "a"})
	if diff := gocmp.Diff([]string{"x", "y"}, namesOf(taken.List(nil))); diff != "" {
		t.Error(diff)
	}
}

func takePending(s *admission.Snapshot, queue string) *admission.PendingOrder {
	p := admission.NewPendingOrder(s.PendingCount(queue))
	s.TakePending(queue, p)
	return p
}

// The order is found by keys, so that it is compared with one that is found by rules. Many workloads are as old as others.
func TestPendingOrderIsThatOfTheRules(t *testing.T) {
	for _, seconds := range []int{1, 20, 100_000} {
		s := admission.NewSnapshot()
		s.UpsertQueue(admission.ClusterQueue{Name: "cq", UsageBased: true})
		chance := rand.New(rand.NewPCG(3, uint64(seconds)))
		for i := range 3000 {
			s.Push(admission.Workload{
				Key: admissiontest.Key(strconv.Itoa(i)), UID: "the same beginning" + strconv.Itoa(chance.Int()), LocalQueue: strconv.Itoa(i % 7), Queue: "cq",
				Priority: chance.Int32() * (chance.Int32N(3) - 1),
				QueuedAt: admissiontest.TimeAt(-seconds / 2).Add(time.Duration(chance.IntN(seconds))*time.Second + time.Duration(chance.IntN(3))),
			})
		}
		usages := map[string]amount.Amount{"1": 5, "2": amount.Unlimited, "3": 5}
		for local, usage := range usages {
			s.SetLocalUsage(admissiontest.Key(local), usage)
		}
		want := s.ListPending("cq")
		slices.SortFunc(want, func(a, b admission.Workload) int {
			return cmp.Or(cmp.Compare(usages[a.LocalQueue], usages[b.LocalQueue]), cmp.Compare(b.Priority, a.Priority), a.QueuedAt.Compare(b.QueuedAt),
				strings.Compare(a.UID, b.UID))
		})
		if diff := gocmp.Diff(want, s.ListPending("cq")); diff != "" {
			t.Errorf("%d seconds: %s", seconds, diff)
		}
	}
}

func snapshotOf100000() *admission.Snapshot {
	s := admission.NewSnapshot()
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		s.Push(admission.Workload{
			Key: admission.Key{Namespace: "ns", Name: strconv.Itoa(i)}, UID: strconv.Itoa(chance.Int()), LocalQueue: strconv.Itoa(i % 100), Queue: "cq",
			Priority: chance.Int32N(3), QueuedAt: admissiontest.TimeAt(0).Add(time.Duration(chance.IntN(100_000)) * time.Second),
			PodSets: []admission.PodSet{{Name: "main", Count: 2, Requests: amount.NewVector(
				amount.Request{Resource: "gpu", Amount: amount.Amount(i % 10)},
			)}},
		})
	}
	return s
}

// BenchmarkPendingOrderOf100000 is of one ClusterQueue: taking happens while the scheduler waits, listing does not.
func BenchmarkPendingOrderOf100000(b *testing.B) {
	s := snapshotOf100000()
	b.Run("take", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			p := admission.NewPendingOrder(s.PendingCount("cq"))
			b.StartTimer()
			s.TakePending("cq", p)
		}
	})
	b.Run("list", func(b *testing.B) {
		p := takePending(s, "cq")
		for b.Loop() {
			p.List(nil)
		}
	})
}
