package assign

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// slabs are memory that assignments are cut from, so that each costs a part of an allocation. A slab lives as long as any
// assignment that was cut from it: those of cycles are replaced by what the API says within moments.
type slabs struct {
	assignments slab[admission.Assignment]
	podSets     slab[admission.PodSetAssignment]
	flavors     slab[admission.ResourceFlavor]
	requests    slab[amount.Request]
	uses        slab[quota.Use]
}

type slab[T any] struct {
	free []T
	// nextSize is that of the next slab: it doubles, so that a single assignment costs what it needs.
	nextSize int
}

// maxSlabLength is the length of the largest slabs.
const maxSlabLength = 64

// alloc returns n zero values, with no room behind them.
func (s *slab[T]) alloc(n int) []T {
	if n > len(s.free) {
		s.nextSize = min(max(2*s.nextSize, n), max(maxSlabLength, n))
		s.free = make([]T, s.nextSize)
	}
	piece := s.free[:n:n]
	s.free = s.free[n:]
	return piece
}
