package view

import (
	"fmt"
	"runtime"
	"testing"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// newLoadedView is a view of 100 ClusterQueues with as many LocalQueues and n waiting workloads.
func newLoadedView(n int) (*View, []*kueue.Workload) {
	v := New(Options{})
	setObjects(v, testNamespace(nil), testFlavor("red"))
	for i := range 100 {
		setObjects(v, testQueue(fmt.Sprintf("cq%d", i), "1000", "red"), testLocalQueue(fmt.Sprintf("lq%d", i), fmt.Sprintf("cq%d", i)))
	}
	workloads := make([]*kueue.Workload, n)
	for i := range workloads {
		wl := testWorkload(fmt.Sprintf("w%d", i), 4, 1)
		wl.Spec.QueueName = kueue.LocalQueueName(fmt.Sprintf("lq%d", i%100))
		workloads[i] = wl
		setObjects(v, wl)
	}
	return v, workloads
}

// BenchmarkWorkloadEvent shows what an event costs beside how many workloads: it must not depend on their number.
func BenchmarkWorkloadEvent(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		v, workloads := newLoadedView(n)
		b.Run(fmt.Sprintf("same/workloads=%d", n), func(b *testing.B) {
			for i := range b.N {
				setObjects(v, workloads[i%n])
			}
		})
		holding := make([]*kueue.Workload, n)
		for i, wl := range workloads {
			holding[i] = setReservation(wl.DeepCopy(), fmt.Sprintf("cq%d", i%100), "red")
		}
		b.Run(fmt.Sprintf("reserve-and-release/workloads=%d", n), func(b *testing.B) {
			for i := range b.N {
				setObjects(v, holding[i%n])
				setObjects(v, workloads[i%n])
			}
		})
	}
}

// BenchmarkWorkloadLife is the events of one workload's life: created, told why it waits, given quota, admitted, its pods
// ready, finished, deleted.
func BenchmarkWorkloadLife(b *testing.B) {
	v, _ := newLoadedView(10_000)
	life := workloadLifecycle(testWorkload("newcomer", 4, 1))
	b.ReportAllocs()
	for b.Loop() {
		for _, wl := range life {
			setObjects(v, wl)
		}
		deleteObject(v, life[0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(len(life)+1)), "ns/event")
}

func workloadLifecycle(wl *kueue.Workload) []*kueue.Workload {
	wl.Spec.QueueName = "lq7"
	life := []*kueue.Workload{wl}
	step := func(change func(*kueue.Workload)) {
		next := life[len(life)-1].DeepCopy()
		next.ResourceVersion = fmt.Sprint(len(life) + 1)
		change(next)
		life = append(life, next)
	}
	condition := func(kind string, status bool) func(*kueue.Workload) {
		return func(wl *kueue.Workload) { setCondition(&wl.Status.Conditions, kind, status, kind, baseTime) }
	}
	step(condition(kueue.WorkloadQuotaReserved, false))
	step(func(wl *kueue.Workload) { setReservation(wl, "cq7", "red") })
	step(condition(kueue.WorkloadAdmitted, true))
	step(condition(kueue.WorkloadPodsReady, true))
	step(condition(kueue.WorkloadFinished, true))
	for _, wl := range life {
		wl.Generation = 1
	}
	return life
}

// BenchmarkRestart is what a new leader needs to know 20,000 workloads that hold quota and 50,000 that wait, in 1,000
// ClusterQueues, and to decide for the first time.
func BenchmarkRestart(b *testing.B) {
	var objects []any
	for i := range 1000 {
		cq := testQueue(fmt.Sprintf("cq%d", i), "80", "red")
		cq.Spec.CohortName = kueue.CohortReference(fmt.Sprintf("cohort%d", i%10))
		objects = append(objects, cq, testLocalQueue(fmt.Sprintf("lq%d", i), cq.Name))
	}
	for i := range 70_000 {
		wl := testWorkload(fmt.Sprintf("w%d", i), 4, 1)
		wl.Spec.QueueName = kueue.LocalQueueName(fmt.Sprintf("lq%d", i%1000))
		if i < 20_000 {
			setReservation(wl, fmt.Sprintf("cq%d", i%1000), "red")
			setCondition(&wl.Status.Conditions, kueue.WorkloadAdmitted, true, "Admitted", baseTime)
		}
		wl.Generation = 1
		objects = append(objects, wl)
	}
	objects = append(objects, testFlavor("red"), testNamespace(nil))
	transform := CompactTransform()
	for _, o := range objects {
		if _, err := transform(o); err != nil {
			b.Fatal(err)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for b.Loop() {
		v := New(Options{})
		setObjects(v, objects...)
		runCycle(v, baseTime)
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/float64(70_000), "B/workload")
		runtime.KeepAlive(v)
		b.StartTimer()
	}
}

// BenchmarkQueueStatusEvent is what the view's own status writes cost it.
func BenchmarkQueueStatusEvent(b *testing.B) {
	v, _ := newLoadedView(10_000)
	cq := testQueue("cq1", "1000", "red")
	for b.Loop() {
		setObjects(v, cq)
	}
}

// BenchmarkNewQueue is what a new ClusterQueue costs with all workloads waiting elsewhere.
func BenchmarkNewQueue(b *testing.B) {
	v, _ := newLoadedView(10_000)
	cq := testQueue("new", "1000", "red")
	for b.Loop() {
		setObjects(v, cq)
		deleteObject(v, cq)
	}
}
