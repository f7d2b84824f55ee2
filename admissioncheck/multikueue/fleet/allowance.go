package fleet

import (
	"sync/atomic"
	"time"

	"switchyard.dev/admissioncheck/multikueue/wire"
)

const (
	// keptBase is what may be kept in memory of one cluster, in bytes, whatever the hub has placed there: its queues, and some
	// 10,000 Workloads with their jobs of which the hub knows nothing any more.
	keptBase = 48 << 20
	// keptEach is what comes to it for each Workload of the hub that names the cluster or looks for one: a copy and its job take
	// some 6 KiB, and more where a topology is assigned.
	keptEach = 16 << 10
	// allowanceHolds is how long an allowance counts before it is worked out anew.
	allowanceHolds = time.Second
)

// holdings are what is kept of one cluster by one session, in bytes.
type holdings struct {
	kept atomic.Int64
	// most is the allowance when it was worked out last, at a time in nanoseconds.
	most, at atomic.Int64
}

// hold counts what is kept more, or less, and ends the session if that is too much.
func (s *session) hold(more int64) {
	if kept := s.holdings.kept.Add(more); more > 0 {
		_ = s.bound(kept) // it has ended the session
	}
}

// bound ends the session if what is kept of the cluster, or about to be, is too much.
func (s *session) bound(kept int64) error {
	kept += s.memory.kept()
	if kept <= keptBase {
		return nil
	}
	most := s.allowance()
	if kept <= most {
		return nil
	}
	err := wire.Exceeded("its objects that bear this hub's origin, and its queues, need more than the %d MiB of memory that what the hub "+
		"has placed there accounts for; remove what is not of this hub", most>>20)
	s.exceed(err)
	return err
}

// allowance is what may be kept of the cluster.
func (s *session) allowance() int64 {
	now := s.options.Clock.Now()
	if at := s.holdings.at.Load(); at != 0 && now.Sub(time.Unix(0, at)) < allowanceHolds {
		return s.holdings.most.Load()
	}
	seekers, others := s.options.Concerned(s.name)
	most := keptBase + keptEach*int64(len(seekers)+len(others))
	s.holdings.most.Store(most)
	s.holdings.at.Store(now.UnixNano())
	return most
}
