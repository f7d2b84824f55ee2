package cycle_test

import (
	"fmt"
	"testing"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

// world is a number of queues in cohorts of ten, each with two flavors of gpu and cpu, and workloads of a few shapes that
// wait in them.
func world(queues, pendingEach int, gpus amount.Amount) *admission.Snapshot {
	s := admission.NewSnapshot()
	for _, name := range []string{"h100", "l4"} {
		s.UpsertFlavor(admission.Flavor{Name: name, Labels: []admission.Label{{Key: "gpu", Value: name}}})
	}
	for i := range queues {
		s.UpsertQueue(admission.Queue{Name: queueName(i), Cohort: fmt.Sprintf("cohort-%d", i/10), Groups: []admission.ResourceGroup{{
			Resources: []string{"cpu", "nvidia.com/gpu"},
			Flavors:   []admission.FlavorQuota{flavorQuota("h100", gpus), flavorQuota("l4", gpus)},
		}}})
	}
	for i := range queues {
		for j := range pendingEach {
			s.Push(gpuJob(i, j))
		}
	}
	return s
}

func queueName(i int) string { return fmt.Sprintf("queue-%04d", i) }

func flavorQuota(name string, gpus amount.Amount) admission.FlavorQuota {
	return admission.FlavorQuota{Flavor: name, Resources: []admission.ResourceQuota{
		{Resource: "cpu", Limits: quota.Nominal(gpus * 16000)},
		{Resource: "nvidia.com/gpu", Limits: quota.Nominal(gpus)},
	}}
}

func gpuJob(queue, n int) admission.Workload {
	name := fmt.Sprintf("w-%04d-%06d", queue, n)
	return admission.Workload{
		Key: admission.Key{Namespace: "team", Name: name}, UID: name, LocalQueue: "lq", Queue: queueName(queue),
		Priority: int32(n % 3), QueuedAt: admissiontest.At(n),
		PodSets: []admission.PodSet{{
			Name: "main", Count: int32(1 + n%4),
			Requests: amount.Vector{{Resource: "cpu", Amount: 1000}, {Resource: "nvidia.com/gpu", Amount: 1}},
		}},
	}
}

func BenchmarkEveryPendingWorkloadIsAdmittedInOneCycle(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := world(1000, 100, 1000)
		b.StartTimer()
		plan := cycle.Run(s, time.Time{}, cycle.Options{})
		if len(plan.Decisions) != 100_000 {
			b.Fatalf("%d decisions", len(plan.Decisions))
		}
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "decisions/s")
}

func BenchmarkCyclesOfBoundedLengthAdmitEveryPendingWorkload(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := world(1000, 100, 1000)
		b.StartTimer()
		for more := true; more; {
			more = cycle.Run(s, time.Time{}, cycle.Options{MaxAdmissions: 256}).More
		}
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "decisions/s")
}

func BenchmarkACycleThatHasNothingToDo(b *testing.B) {
	s := world(1000, 100, 4)
	cycle.Run(s, time.Time{}, cycle.Options{})
	for b.Loop() {
		if plan := cycle.Run(s, time.Time{}, cycle.Options{}); len(plan.Decisions) != 0 {
			b.Fatal("something was to be done")
		}
	}
}

func BenchmarkOneWorkloadFinishesAndTheNextIsAdmitted(b *testing.B) {
	s := world(1000, 100, 4)
	plan := cycle.Run(s, time.Time{}, cycle.Options{})
	var held []admission.Key
	for _, d := range plan.Decisions {
		if d.Verdict == admission.Admit {
			held = append(held, d.Workload)
		}
	}
	n, admitted := 0, 0
	for b.Loop() {
		if n == len(held) {
			b.Fatal("nobody is left")
		}
		w := held[n]
		n++
		s.Release(w)
		for _, d := range cycle.Run(s, time.Time{}, cycle.Options{}).Decisions {
			if d.Verdict == admission.Admit {
				held = append(held, d.Workload)
				admitted++
			}
		}
		s.Push(gpuJob(n%1000, 1000+n))
	}
	b.ReportMetric(float64(admitted)/float64(b.N), "admitted/op")
}

func BenchmarkPushing(b *testing.B) {
	s := world(1000, 0, 4)
	n := 0
	for b.Loop() {
		s.Push(gpuJob(n%1000, n))
		n++
	}
}
