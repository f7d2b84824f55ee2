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
	// writesPerJob is how many writes it takes until a job's pods are told: target, inactive, evicted, suspended.
	writesPerJob = 4
	// answers is for the API server to answer them, and for what comes between.
	answers = 2 * time.Second
	// granule is what the time is rounded up to: what is told is some seconds old when a hub reads it.
	granule = 5 * time.Second
)

// haste is how quickly a fence stops what depends on it.
type haste struct {
	reader client.Reader
	// takeover and rate are those of [Options].
	takeover time.Duration
	rate     float64
}

// within is how long it may take until the last job is told, if the leading program dies as the lease runs out: until another
// leads, the look, and the writes of all jobs one after the other.
func (h haste) within(ctx context.Context) (time.Duration, error) {
	var jobs kueue.WorkloadList
	if err := h.reader.List(ctx, &jobs, client.MatchingFields{byLease: anyLease}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("count the workloads that would be stopped: %w", err)
	}
	longest := h.takeover + fence.LookEvery + answers
	if h.rate > 0 {
		longest += time.Duration(float64(len(jobs.Items)*writesPerJob) / h.rate * float64(time.Second))
	}
	return (longest + granule - 1).Truncate(granule), nil
}
