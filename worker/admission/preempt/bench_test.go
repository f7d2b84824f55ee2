package preempt_test

import (
	"fmt"
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/preempt"
	"switchyard.dev/worker/admission/quota"
)

var gpu = quota.FlavorResource{Flavor: "h100", Resource: "gpu"}

func gpuUsage(n int) admission.Usage {
	return admission.Usage{{FlavorResource: gpu, Amount: amount.Amount(n)}}
}

// fullyUsedSnapshot is so many queues, ten to a cohort if deep, and in each so many workloads of one gpu; only the first
// queue, which may evict whatever policy can allow, owns more than it uses.
func fullyUsedSnapshot(queues, holdersEach int, deep bool) *admission.Snapshot {
	s := admission.NewSnapshot()
	for i := range queues {
		q := admission.ClusterQueue{Name: fmt.Sprintf("queue-%04d", i), Cohort: "all"}
		if deep {
			q.Cohort = fmt.Sprintf("cohort-%03d", i/10)
			s.UpsertCohort(admission.Cohort{Name: q.Cohort, Parent: "all"})
		}
		nominal := 0
		if i == 0 {
			nominal = queues * holdersEach
			q.Preemption = admission.Preemption{
				WithinQueue: admission.LowerPriority, ReclaimWithinCohort: admission.AnyPriority,
				BorrowWithinCohort: admission.LowerPriority,
			}
		}
		q.Groups = []admission.ResourceGroup{{Resources: []string{"gpu"}, Flavors: []admission.FlavorQuota{{
			Flavor: "h100", Resources: []admission.ResourceQuota{{Resource: "gpu", Limits: quota.Nominal(amount.Amount(nominal))}},
		}}}}
		s.UpsertQueue(q)
		for j := range holdersEach {
			name := fmt.Sprintf("w-%04d-%05d", i, j)
			s.Admit(admission.Reservation{
				Key: admissiontest.Key(name), UID: name, LocalQueue: "lq", Queue: q.Name, Usage: gpuUsage(1),
				Priority: int32(j % 7), ReservedAt: admissiontest.TimeAt(j * 31 % 1000), Admitted: true,
			})
		}
	}
	return s
}

func BenchmarkFindAmong10000Candidates(b *testing.B) {
	fair := preempt.Options{FairSharing: true, WithinNominal: true}
	for _, c := range []struct {
		name                string
		queues, holdersEach int
		deep                bool
		victims             int
		options             preempt.Options
	}{
		{"one queue, 8 victims", 1, 10_000, false, 8, preempt.Options{}},
		{"one queue, all victims", 1, 10_000, false, 10_000, preempt.Options{}},
		{"1000 queues, 8 victims", 1000, 10, false, 8, preempt.Options{}},
		{"1000 queues, 1000 victims", 1000, 10, false, 1000, preempt.Options{}},
		{"1000 queues in 100 cohorts, 8 victims", 1000, 10, true, 8, preempt.Options{}},
		{"fair, 1000 queues, 8 victims", 1000, 10, false, 8, fair},
		{"fair, 1000 queues, 1000 victims", 1000, 10, false, 1000, fair},
		{"fair, 1000 queues in 100 cohorts, 8 victims", 1000, 10, true, 8, fair},
		{"fair, 1000 queues in 100 cohorts, 1000 victims", 1000, 10, true, 1000, fair},
	} {
		b.Run(c.name, func(b *testing.B) {
			x := preempt.New(fullyUsedSnapshot(c.queues, c.holdersEach, c.deep), c.options)
			need := preempt.Request{Queue: "queue-0000", Usage: gpuUsage(c.victims), Workload: &admission.Workload{Priority: 100}}
			b.ReportAllocs()
			for b.Loop() {
				if got := x.Find(need); len(got) != c.victims {
					b.Fatalf("%d victims", len(got))
				}
			}
		})
	}
}

// BenchmarkOracle is the price of looking at a flavor that does not fit.
func BenchmarkOracle(b *testing.B) {
	for _, c := range []struct {
		name     string
		queues   int
		priority int32
		request  int
		want     assign.Mode
	}{
		{"nobody is of lower priority, 10000 hold", 1, 0, 1, assign.NoCandidates},
		{"one of 10000 is enough", 1, 9, 1, assign.Preempt},
		{"one of 1000 queues that borrow is enough", 1000, 9, 1, assign.Reclaim},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := fullyUsedSnapshot(c.queues, 10_000/c.queues, false)
			x := preempt.New(s, preempt.Options{})
			cell := s.Quota().Cell("queue-0000", gpu)
			grade := x.Oracle(&admission.Workload{Priority: c.priority}, "queue-0000")
			b.ReportAllocs()
			for b.Loop() {
				if got := grade(cell, amount.Amount(c.request)); got != c.want {
					b.Fatal(modeName(got))
				}
			}
		})
	}
}
