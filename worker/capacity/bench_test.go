package capacity

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newFilledEnv has so many ClusterQueues in cohorts of some size, each with LocalQueues, so many workloads that hold quota, partly
// borrowed, and as many that wait.
func newFilledEnv(tb testing.TB, queues, perCohort, locals, workloads int) *testEnv {
	tb.Helper()
	objects := []client.Object{testFlavor("red")}
	for i := range queues {
		q := fmt.Sprintf("cq%04d", i)
		objects = append(objects, testClusterQueue(q, fmt.Sprintf("cohort%d", i/perCohort), int64(2*workloads), preemptLower, preemptAny))
		for l := range locals {
			objects = append(objects, testLocalQueue(fmt.Sprintf("%s-%d", q, l), q))
		}
		for w := range workloads {
			way := fmt.Sprintf("%s-%d", q, w%locals)
			gpus := int32(1)
			if i%2 == 0 {
				gpus = 3
			}
			objects = append(objects,
				setReservation(pendingWorkload(fmt.Sprintf("%s-h%d", q, w), way, gpus, int32(w%4), w), q),
				pendingWorkload(fmt.Sprintf("%s-w%d", q, w), way, 4, int32(w%4), w))
		}
	}
	return newTestEnv(tb, objects...)
}

// BenchmarkReport shows what a report costs in a cluster of 1,000 ClusterQueues and 40,000 workloads: all of it, as when a
// program begins to lead, and after a change in one queue, in small cohorts and in a single one.
func BenchmarkReport(b *testing.B) {
	for _, perCohort := range []int{10, 1000} {
		s := newFilledEnv(b, 1000, perCohort, 1, 20)
		b.Run(fmt.Sprintf("all/cohorts-of-%d", perCohort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all := newChangedNames()
				s.cache.markAllChanged(s.view, all)
				s.cache.update(s.view, all)
				s.cache.buildReport(s.view)
			}
		})
		b.Run(fmt.Sprintf("mutex-held/cohorts-of-%d", perCohort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.view.TreeCapacities("cq0500")
			}
		})
		b.Run(fmt.Sprintf("one-changed/cohorts-of-%d", perCohort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changed := newChangedNames()
				changed.localQueues[namespacedNameOf(testLocalQueue("cq0500-0", ""))] = true
				s.cache.update(s.view, changed)
				s.cache.buildReport(s.view)
			}
		})
	}
}

func TestTheReportOfAThousandLocalQueuesIsSmall(t *testing.T) {
	for _, test := range []struct{ queues, locals, most int }{{30, 34, 60_000}, {1000, 1, 600_000}} {
		s := newFilledEnv(t, test.queues, 10, test.locals, 4)
		s.reconcile()
		data, err := json.Marshal(s.getReport())
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > test.most {
			t.Errorf("%d ClusterQueues with %d LocalQueues each: %d bytes, want at most %d", test.queues, test.locals, len(data), test.most)
		}
		s.clock.Step(time.Second)
		s.deliver(pendingWorkload("one-more", "cq0000-0", 1, 0, 0))
		if wait, least := s.reconcile(), time.Duration(len(data)/maxBytesPerInterval)*MinWriteInterval; s.writes != 1 || wait < least {
			t.Errorf("a report of %d bytes is written again after %v", len(data), wait)
		}
		t.Logf("%d ClusterQueues with %d LocalQueues each: %d bytes", test.queues, test.locals, len(data))
	}
}
