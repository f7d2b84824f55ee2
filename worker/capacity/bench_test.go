package capacity

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// filled has so many ClusterQueues in cohorts of some size, each with LocalQueues, so many workloads that hold quota, partly
// borrowed, and as many that wait.
func filled(tb testing.TB, queues, perCohort, locals, workloads int) *stage {
	tb.Helper()
	objects := []client.Object{flavor("red")}
	for i := range queues {
		q := fmt.Sprintf("cq%04d", i)
		objects = append(objects, queue(q, fmt.Sprintf("cohort%d", i/perCohort), int64(2*workloads), lower, anyone))
		for l := range locals {
			objects = append(objects, local(fmt.Sprintf("%s-%d", q, l), q))
		}
		for w := range workloads {
			way := fmt.Sprintf("%s-%d", q, w%locals)
			gpus := int32(1)
			if i%2 == 0 {
				gpus = 3
			}
			objects = append(objects,
				holding(waiting(fmt.Sprintf("%s-h%d", q, w), way, gpus, int32(w%4), w), q),
				waiting(fmt.Sprintf("%s-w%d", q, w), way, 4, int32(w%4), w))
		}
	}
	return newStage(tb, objects...)
}

// BenchmarkReport shows what a report costs in a cluster of 1,000 ClusterQueues and 40,000 workloads: all of it, as when a
// program begins to lead, and after a change in one queue, in small cohorts and in a single one.
func BenchmarkReport(b *testing.B) {
	for _, perCohort := range []int{10, 1000} {
		s := filled(b, 1000, perCohort, 1, 20)
		b.Run(fmt.Sprintf("all/cohorts-of-%d", perCohort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all := newChanges()
				s.books.addAll(s.view, all)
				s.books.keep(s.view, all)
				s.books.report(s.view)
			}
		})
		b.Run(fmt.Sprintf("mutex-held/cohorts-of-%d", perCohort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.view.Rooms("cq0500")
			}
		})
		b.Run(fmt.Sprintf("one-changed/cohorts-of-%d", perCohort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changed := newChanges()
				changed.locals[nameOf(local("cq0500-0", ""))] = true
				s.books.keep(s.view, changed)
				s.books.report(s.view)
			}
		})
	}
}

func TestTheReportOfAThousandLocalQueuesIsSmall(t *testing.T) {
	for _, test := range []struct{ queues, locals, most int }{{30, 34, 60_000}, {1000, 1, 600_000}} {
		s := filled(t, test.queues, 10, test.locals, 4)
		s.reconcile()
		data, err := json.Marshal(s.stored())
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > test.most {
			t.Errorf("%d ClusterQueues with %d LocalQueues each: %d bytes, want at most %d", test.queues, test.locals, len(data), test.most)
		}
		s.clock.Step(time.Second)
		s.deliver(waiting("one-more", "cq0000-0", 1, 0, 0))
		if wait, least := s.reconcile(), time.Duration(len(data)/calm)*Interval; s.writes != 1 || wait < least {
			t.Errorf("a report of %d bytes is written again after %v", len(data), wait)
		}
		t.Logf("%d ClusterQueues with %d LocalQueues each: %d bytes", test.queues, test.locals, len(data))
	}
}
