package bench

import (
	"cmp"
	"slices"
	"time"
)

// quantile is the smallest of the durations that at least the fraction q of them do not exceed; zero for none.
func quantile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	index := int(float64(len(sorted))*q+0.999999) - 1
	return sorted[min(max(index, 0), len(sorted)-1)]
}

// cost is how many writes of one kind a program made.
type cost struct {
	program, verb, resource string
	count                   int
}

// sortCosts orders costs by program, then the most frequent first.
func sortCosts(costs []cost) {
	slices.SortFunc(costs, func(a, b cost) int {
		return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(b.count, a.count),
			cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb))
	})
}
