package guard

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
)

const (
	// writeLatency is how long an API server with much to do takes for one write, admission webhooks included.
	writeLatency = 40 * time.Millisecond
	// pipelineDelay is for what comes between the writes: caches that follow, queues that are worked off.
	pipelineDelay = 2 * time.Second
	// roundTo is what the time is rounded up to: what is told is some seconds old when a hub reads it.
	roundTo = 5 * time.Second
)

// stopEstimate is how quickly a fence stops what depends on it.
type stopEstimate struct {
	Options
	reader client.Reader
}

// duration is how long it may take until the last job is told, if the leading program dies as the lease runs out: until another
// leads, the look, and all writes.
func (h stopEstimate) duration(ctx context.Context) (time.Duration, error) {
	var jobs kueue.WorkloadList
	if err := h.reader.List(ctx, &jobs, client.MatchingFields{leaseIndex: anyLease}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("count the workloads that would be stopped: %w", err)
	}
	longest := h.Takeover + fence.CheckInterval + pipelineDelay + time.Duration(len(jobs.Items))*h.perWorkload()
	return (longest + roundTo - 1).Truncate(roundTo), nil
}

// perWorkload is what every job adds: it is asked to stop by the fence, made inactive and evicted by the controller of Workloads, and
// suspended by that of its kind. Each of the three does some at a time, and none more than the client's rate allows.
func (h stopEstimate) perWorkload() time.Duration {
	var sum time.Duration
	for _, stage := range []struct{ writes, together int }{{1, concurrentStops}, {2, h.Workloads}, {1, h.Jobs}} {
		takes := time.Duration(stage.writes) * writeLatency / time.Duration(max(stage.together, 1))
		if h.Rate > 0 {
			takes = max(takes, time.Duration(float64(stage.writes)/h.Rate*float64(time.Second)))
		}
		sum += takes
	}
	return sum
}
