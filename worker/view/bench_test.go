package view

import (
	"fmt"
	"testing"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// crowded is a view of 100 ClusterQueues with as many LocalQueues and n waiting workloads.
func crowded(n int) (*View, []*kueue.Workload) {
	v := New(Options{})
	feedAll(v, testNamespace(nil), testFlavor("red"))
	for i := range 100 {
		feedAll(v, testQueue(fmt.Sprintf("cq%d", i), "1000", "red"), testLocal(fmt.Sprintf("lq%d", i), fmt.Sprintf("cq%d", i)))
	}
	workloads := make([]*kueue.Workload, n)
	for i := range workloads {
		wl := testWorkload(fmt.Sprintf("w%d", i), 4, 1)
		wl.Spec.QueueName = kueue.LocalQueueName(fmt.Sprintf("lq%d", i%100))
		workloads[i] = wl
		feedAll(v, wl)
	}
	return v, workloads
}

// BenchmarkWorkloadEvent shows what an event costs beside how many workloads: it must not depend on their number.
func BenchmarkWorkloadEvent(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		v, workloads := crowded(n)
		b.Run(fmt.Sprintf("same/workloads=%d", n), func(b *testing.B) {
			for i := range b.N {
				feedAll(v, workloads[i%n])
			}
		})
		holding := make([]*kueue.Workload, n)
		for i, wl := range workloads {
			holding[i] = reserve(wl.DeepCopy(), fmt.Sprintf("cq%d", i%100), "red")
		}
		b.Run(fmt.Sprintf("reserve-and-release/workloads=%d", n), func(b *testing.B) {
			for i := range b.N {
				feedAll(v, holding[i%n])
				feedAll(v, workloads[i%n])
			}
		})
	}
}

// BenchmarkQueueStatusEvent is what the view's own status writes cost it.
func BenchmarkQueueStatusEvent(b *testing.B) {
	v, _ := crowded(10_000)
	cq := testQueue("cq1", "1000", "red")
	for b.Loop() {
		feedAll(v, cq)
	}
}

// BenchmarkNewQueue is what a new ClusterQueue costs with everybody else waiting elsewhere.
func BenchmarkNewQueue(b *testing.B) {
	v, _ := crowded(10_000)
	cq := testQueue("new", "1000", "red")
	for b.Loop() {
		feedAll(v, cq)
		unfeed(v, cq)
	}
}
