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
	rest []T
	// size is that of the next slab: it doubles, so that a single assignment costs what it needs.
	size int
}

// maxSlab is the length of the largest slabs.
const maxSlab = 64

// cut returns n zero values, with no room behind them.
func (s *slab[T]) cut(n int) []T {
	if n > len(s.rest) {
		s.size = min(max(2*s.size, n), max(maxSlab, n))
		s.rest = make([]T, s.size)
	}
	piece := s.rest[:n:n]
	s.rest = s.rest[n:]
	return piece
}
