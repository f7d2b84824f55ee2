package fleet

import (
	"sync/atomic"
	"time"

	"switchyard.dev/admissioncheck/multikueue/wire"
)

const (
	// memoryBase is what may be kept in memory of one cluster, in bytes, whatever the hub has placed there: its queues, and some
	// 10,000 Workloads with their jobs of which the hub knows nothing any more.
	memoryBase = 48 << 20
	// memoryPerWorkload is what comes to it for each Workload of the hub that names the cluster or looks for one: a copy and its job take
	// some 6 KiB, and more where a topology is assigned.
	memoryPerWorkload = 16 << 10
	// memoryLimitTTL is how long an allowance counts before it is worked out anew.
	memoryLimitTTL = time.Second
)

// memoryUsage are what is kept of one cluster by one session, in bytes.
type memoryUsage struct {
	bytes atomic.Int64
	// limit is the allowance when it was worked out last, at a time in nanoseconds.
	limit, limitComputedAt atomic.Int64
}

// addMemoryUsage counts what is kept more, or less, and ends the session if that is too much.
func (s *session) addMemoryUsage(more int64) {
	if kept := s.memoryUsage.bytes.Add(more); more > 0 {
		_ = s.checkMemoryLimit(kept) // it has ended the session
	}
}

// checkMemoryLimit ends the session if what is kept of the cluster, or about to be, is too much.
func (s *session) checkMemoryLimit(kept int64) error {
	kept += s.deletedObjects.totalBytes()
	if kept <= memoryBase {
		return nil
	}
	most := s.memoryLimit()
	if kept <= most {
		return nil
	}
	err := wire.Exceeded("its objects that bear this hub's origin, and its queues, need more than the %d MiB of memory that what the hub "+
		"has placed there accounts for; remove what is not of this hub", most>>20)
	s.endExceeded(err)
	return err
}

// memoryLimit is what may be kept of the cluster.
func (s *session) memoryLimit() int64 {
	now := s.options.Clock.Now()
	if at := s.memoryUsage.limitComputedAt.Load(); at != 0 && now.Sub(time.Unix(0, at)) < memoryLimitTTL {
		return s.memoryUsage.limit.Load()
	}
	seekers, others := s.options.AffectedWorkloads(s.name)
	most := memoryBase + memoryPerWorkload*int64(len(seekers)+len(others))
	s.memoryUsage.limit.Store(most)
	s.memoryUsage.limitComputedAt.Store(now.UnixNano())
	return most
}
