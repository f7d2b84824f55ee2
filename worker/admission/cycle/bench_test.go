package cycle_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

// benchConfig is how large a world is.
type benchConfig struct {
	// queues are in ten cohort trees, each with two flavors of gpu and cpu.
	queues, pendingPerQueue, admittedPerQueue int
	gpus                                      amount.Amount
	policy                                    admission.Preemption
}

// fullScale is the size that the targets are about: 1,000 queues, 100,000 pending and 20,000 admitted workloads.
var fullScale = benchConfig{queues: 1000, pendingPerQueue: 100, admittedPerQueue: 20, gpus: 1000}

func (x benchConfig) build() *admission.Snapshot {
	s := admission.NewSnapshot()
	for _, name := range []string{"h100", "l4"} {
		s.UpsertFlavor(admission.Flavor{Name: name, Labels: []admission.Label{{Key: "gpu", Value: name}}})
	}
	for i := range x.queues {
		s.UpsertQueue(admission.ClusterQueue{
			Name: queueName(i), Cohort: fmt.Sprintf("cohort-%d", i%10), Preemption: x.policy,
			Groups: []admission.ResourceGroup{{
				Resources: []string{"cpu", "nvidia.com/gpu"},
				Flavors:   []admission.FlavorQuota{flavorQuota("h100", x.gpus), flavorQuota("l4", x.gpus)},
			}},
		})
	}
	for i := range x.queues {
		for j := range x.admittedPerQueue {
			s.Admit(gpuHolder(i, j))
		}
		for j := range x.pendingPerQueue {
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
		Priority: int32(n % 3), QueuedAt: admissiontest.TimeAt(n),
		PodSets: []admission.PodSet{{
			Name: "main", Count: int32(1 + n%4),
			Requests: amount.Vector{{Resource: "cpu", Amount: 1000}, {Resource: "nvidia.com/gpu", Amount: 1}},
		}},
	}
}

// gpuHolder holds a gpu of either flavor in turn.
func gpuHolder(queue, n int) admission.Reservation {
	name, flavor := fmt.Sprintf("h-%04d-%06d", queue, n), []string{"h100", "l4"}[n%2]
	return admission.Reservation{
		Key: admission.Key{Namespace: "team", Name: name}, UID: name, LocalQueue: "lq", Queue: queueName(queue),
		Priority: int32(n % 3), ReservedAt: admissiontest.TimeAt(n), Admitted: true, PodsReady: true,
		Usage: admission.Usage{
			{FlavorResource: admission.FlavorResource{Flavor: flavor, Resource: "cpu"}, Amount: 1000},
			{FlavorResource: admission.FlavorResource{Flavor: flavor, Resource: "nvidia.com/gpu"}, Amount: 1},
		},
	}
}

// cpuMeter measures the processor time and the allocations of a part of a benchmark, the collection of garbage included: on a
// machine that others use, too, the time on the wall says little.
type cpuMeter struct {
	cpuTime      time.Duration
	mallocs      uint64
	startCPUTime time.Duration
	startMallocs uint64
}

func processCPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (m *cpuMeter) start() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.startMallocs, m.startCPUTime = stats.Mallocs, processCPUTime()
}

func (m *cpuMeter) stop() {
	m.cpuTime += processCPUTime() - m.startCPUTime
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.mallocs += stats.Mallocs - m.startMallocs
}

// report reports what each of n units cost, and how many times better than the target that is, for a target in
// microseconds of one core.
func (m *cpuMeter) report(b *testing.B, n int, target float64) {
	b.Helper()
	each := float64(m.cpuTime.Nanoseconds()) / 1000 / float64(n)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each, "core-us/unit")
	b.ReportMetric(float64(m.mallocs)/float64(n), "allocs/unit")
	b.ReportMetric(target/each, "x-target")
}

// BenchmarkCore prints the table of what decisions cost. The unit is a decision in the first two rows and a cycle in the
// others; the targets are 10 us of a core for a decision and 1 ms for a cycle.
func BenchmarkCore(b *testing.B) {
	b.Run("decision/all-in-one-cycle", func(b *testing.B) { benchDecisions(b, 0) })
	b.Run("decision/in-cycles-of-256", func(b *testing.B) { benchDecisions(b, 256) })
	b.Run("cycle/nothing-to-do", benchIdleCycle)
	b.Run("cycle/one-ends-one-starts", benchOneReleased)
	b.Run("cycle/tournament-of-1000-queues", benchTournament)
	b.Run("cycle/search-among-20000-candidates", benchVictimSearch)
}

func benchDecisions(b *testing.B, limit int) {
	b.Helper()
	var m cpuMeter
	n := 0
	for b.Loop() {
		b.StopTimer()
		s := cycle.NewScheduler(fullScale.build())
		runtime.GC()
		b.StartTimer()
		m.start()
		for more := true; more; {
			plan := s.Run(time.Time{}, cycle.Options{MaxAdmissions: limit})
			more, n = plan.HasMore, n+len(plan.Decisions)
		}
		m.stop()
	}
	if n != b.N*100_000 {
		b.Fatalf("%d decisions", n)
	}
	m.report(b, n, 10)
}

// fullyUsedSnapshot is a world in which nothing is free.
func fullyUsedSnapshot(opts cycle.Options) *cycle.Scheduler {
	x := fullScale
	x.gpus = 10
	s := cycle.NewScheduler(x.build())
	s.Run(time.Time{}, opts)
	return s
}

func benchIdleCycle(b *testing.B) {
	s := fullyUsedSnapshot(cycle.Options{})
	s.Run(time.Time{}, cycle.Options{})
	var m cpuMeter
	m.start()
	for b.Loop() {
		if plan := s.Run(time.Time{}, cycle.Options{}); len(plan.Decisions) != 0 {
			b.Fatal("something was to be done")
		}
	}
	m.stop()
	m.report(b, b.N, 1000)
}

func benchOneReleased(b *testing.B) {
	s := fullyUsedSnapshot(cycle.Options{})
	held := make([]admission.Key, 0, 20_000)
	for j := range fullScale.admittedPerQueue {
		for i := range fullScale.queues {
			held = append(held, gpuHolder(i, j).Key)
		}
	}
	var m cpuMeter
	m.start()
	n, admitted := 0, 0
	for b.Loop() {
		s.Snapshot().Release(held[n%len(held)])
		n++
		for _, d := range s.Run(time.Time{}, cycle.Options{}).Decisions {
			if d.Outcome == admission.Admit {
				held = append(held, d.Workload)
				admitted++
			}
		}
	}
	m.stop()
	m.report(b, b.N, 1000)
	b.ReportMetric(float64(admitted)/float64(b.N), "admitted/unit")
}

// benchTournament has one head of each of 1,000 queues compete by shares; all of them borrow.
func benchTournament(b *testing.B) {
	var m cpuMeter
	for b.Loop() {
		b.StopTimer()
		s := cycle.NewScheduler(benchConfig{queues: 1000, pendingPerQueue: 1, admittedPerQueue: 20, gpus: 20}.build())
		b.StartTimer()
		m.start()
		if plan := s.Run(time.Time{}, cycle.Options{FairSharing: true}); len(plan.Decisions) != 1000 {
			b.Fatalf("%d decisions", len(plan.Decisions))
		}
		m.stop()
	}
	m.report(b, b.N, 1000*10)
}

// benchVictimSearch has an urgent workload preempt in a world where nothing is free, and takes that back.
func benchVictimSearch(b *testing.B) {
	x := fullScale
	x.gpus, x.pendingPerQueue = 10, 0
	x.policy = admission.Preemption{WithinQueue: admission.LowerPriority, ReclaimWithinCohort: admission.AnyPriority}
	s := x.build()
	scheduler := cycle.NewScheduler(s)
	var m cpuMeter
	m.start()
	for b.Loop() {
		w := gpuJob(1, 3)
		w.Priority = 9
		s.Push(w)
		plan := scheduler.Run(time.Time{}, cycle.Options{})
		if len(plan.Decisions) != 1 || plan.Decisions[0].Outcome != admission.Preempt {
			b.Fatalf("the plan is %v", plan)
		}
		s.Remove(w.Key)
		for _, v := range plan.Decisions[0].Victims {
			s.UnmarkEvicting(v.Workload)
		}
	}
	m.stop()
	m.report(b, b.N, 1000)
}

func BenchmarkPush(b *testing.B) {
	s := benchConfig{queues: 1000, gpus: 4}.build()
	n := 0
	for b.Loop() {
		s.Push(gpuJob(n%1000, n))
		n++
	}
}
