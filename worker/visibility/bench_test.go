package visibility

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"

	visibility "switchyard.dev/apis/visibility/v1beta2"
)

// newLoadedEnv has 100,000 workloads in one ClusterQueue, of 100 LocalQueues.
func newLoadedEnv(tb testing.TB) *testEnv {
	tb.Helper()
	e := newTestEnv(tb, testClusterQueue("cq"))
	for i := range 100 {
		e.deliver(testLocalQueue(fmt.Sprintf("lq%d", i), "cq"))
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		e.deliver(testWorkload(fmt.Sprintf("w%d", i), fmt.Sprintf("lq%d", i%100), chance.Int32N(3), chance.IntN(100_000)))
	}
	return e
}

// BenchmarkPageOf100000 is a page of 1,000 of what waits in a ClusterQueue, in process: from a list that is there, and with the list
// made for it.
func BenchmarkPageOf100000(b *testing.B) {
	e := newLoadedEnv(b)
	p := newPositions(e.view, clock.RealClock{})
	storage := pendingWorkloads{synced: e.view.HasSynced, find: p.ofClusterQueue, resource: "clusterqueue"}
	ofLocalQueue := pendingWorkloads{synced: e.view.HasSynced, find: p.ofLocalQueue, resource: "localqueue"}
	for _, c := range []struct {
		name, queue string
		storage     pendingWorkloads
		offset      int64
		again       bool
	}{
		{"first page", "cq", storage, 0, false}, {"first page, list made", "cq", storage, 0, true},
		{"last page", "cq", storage, 99_000, false}, {"last page, list made", "cq", storage, 99_000, true},
		{"LocalQueue", "lq7", ofLocalQueue, 0, false}, {"LocalQueue, list made", "lq7", ofLocalQueue, 0, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			ctx := apirequest.WithNamespace(b.Context(), "ns")
			var longest time.Duration
			for b.Loop() {
				if cached := p.ensure("cq"); cached.list != nil {
					cached.cost = time.Hour
					if c.again {
						cached.list = nil
					}
				}
				began := time.Now()
				answer, err := c.storage.Get(ctx, c.queue, &visibility.PendingWorkloadOptions{Offset: c.offset})
				if err != nil || len(answer.(*visibility.PendingWorkloadsSummary).Items) != 1000 {
					b.Fatal(err)
				}
				longest = max(longest, time.Since(began))
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
		})
	}
}

// BenchmarkRequestsBesideEvents is what events of workloads cost, which wait for the same mutex as the scheduler does, while 100,000
// wait in one ClusterQueue: alone, and beside a hundred requests a second.
func BenchmarkRequestsBesideEvents(b *testing.B) {
	e := newLoadedEnv(b)
	p := newPositions(e.view, clock.RealClock{})
	storage := pendingWorkloads{synced: e.view.HasSynced, find: p.ofClusterQueue, resource: "clusterqueue"}
	for _, rate := range []int{0, 100} {
		b.Run(fmt.Sprintf("requests=%d", rate), func(b *testing.B) {
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				request(ctx, b, storage, rate)
			}()
			version, longest := 0, time.Duration(0)
			for b.Loop() {
				version++
				wl := testWorkload(fmt.Sprintf("w%d", version%100_000), "lq1", int32(version%3), version%100_000)
				wl.ResourceVersion = fmt.Sprint(version)
				began := time.Now()
				e.deliver(wl)
				longest = max(longest, time.Since(began))
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
			stop()
			<-ended
		})
	}
}

// request asks for the first page so often a second, until the context ends.
func request(ctx context.Context, b *testing.B, storage pendingWorkloads, rate int) {
	b.Helper()
	if rate == 0 {
		return
	}
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, err := storage.Get(ctx, "cq", &visibility.PendingWorkloadOptions{}); err != nil {
				b.Error(err)
				return
			}
		}
	}
}
