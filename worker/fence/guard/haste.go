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
	// answer is how long an API server with much to do takes for one write, admission webhooks included.
	answer = 40 * time.Millisecond
	// between is for what comes between the writes: caches that follow, queues that are worked off.
	between = 2 * time.Second
	// granule is what the time is rounded up to: what is told is some seconds old when a hub reads it.
	granule = 5 * time.Second
)

// haste is how quickly a fence stops what depends on it.
type haste struct {
	Options
	reader client.Reader
}

// within is how long it may take until the last job is told, if the leading program dies as the lease runs out: until another
// leads, the look, and all writes.
func (h haste) within(ctx context.Context) (time.Duration, error) {
	var jobs kueue.WorkloadList
	if err := h.reader.List(ctx, &jobs, client.MatchingFields{byLease: anyLease}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("count the workloads that would be stopped: %w", err)
	}
	longest := h.Takeover + fence.LookEvery + between + time.Duration(len(jobs.Items))*h.each()
	return (longest + granule - 1).Truncate(granule), nil
}

// each is what every job adds: it is asked to stop by the fence, made inactive and evicted by the controller of Workloads, and
// suspended by that of its kind. Each of the three does some at a time, and none more than the client's rate allows.
func (h haste) each() time.Duration {
	var sum time.Duration
	for _, stage := range []struct{ writes, together int }{{1, atOnce}, {2, h.Workloads}, {1, h.Jobs}} {
		takes := time.Duration(stage.writes) * answer / time.Duration(max(stage.together, 1))
		if h.Rate > 0 {
			takes = max(takes, time.Duration(float64(stage.writes)/h.Rate*float64(time.Second)))
		}
		sum += takes
	}
	return sum
}
