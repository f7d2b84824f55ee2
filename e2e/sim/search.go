package sim

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"switchyard.dev/e2e/sim/script"
)

// SearchResult is what came of the random scripts of many seeds.
type SearchResult struct {
	// Schedules is how many were run. Checks, Reached and Policies are counted as in Result.
	Schedules int
	Checks    map[string]int
	Events    map[Event]int
	Policies  map[string]int
	// Failures are the seeds that broke an invariant, the smallest first.
	Failures []Failure
}

// Failure is a seed that breaks an invariant. By rank says that it is one of placement, which no script replays.
type Failure struct {
	Seed      uint64
	Violation string
	InRanking bool
}

// maxFailures is how many end a search: one must not hide the others, nor all of them be waited for.
const maxFailures = 20

// SearchSeeds runs the scripts of so many seeds from a first one, with so many commands each, on all processors.
func SearchSeeds(parts Parts, first, seeds uint64, length int) SearchResult {
	var next, failures atomic.Uint64
	found := make([]SearchResult, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range found {
		running.Go(func() {
			s := &found[i]
			*s = SearchResult{Checks: map[string]int{}, Events: map[Event]int{}, Policies: map[string]int{}}
			for failures.Load() < maxFailures {
				n := next.Add(1) - 1
				if n >= seeds {
					return
				}
				if s.runSeed(parts, first+n, length) {
					failures.Add(1)
				}
			}
		})
	}
	running.Wait()
	total := found[0]
	for _, s := range found[1:] {
		total.merge(s)
	}
	slices.SortFunc(total.Failures, func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	return total
}

// runSeed runs one seed and reports whether it breaks an invariant.
func (s *SearchResult) runSeed(parts Parts, seed uint64, length int) bool {
	result := Replay(parts, script.Random(seed, length))
	s.Schedules++
	s.Policies[result.Policy]++
	addCounts(s.Checks, result.Checks)
	addCounts(s.Events, result.Events)
	f := Failure{Seed: seed, Violation: result.Violation}
	if f.Violation == "" {
		f.Violation, f.InRanking = FindRankViolation(parts.Rank, seed, s.Checks), true
	}
	if f.Violation != "" {
		s.Failures = append(s.Failures, f)
	}
	return f.Violation != ""
}

func (s *SearchResult) merge(other SearchResult) {
	s.Schedules += other.Schedules
	addCounts(s.Checks, other.Checks)
	addCounts(s.Events, other.Events)
	addCounts(s.Policies, other.Policies)
	s.Failures = append(s.Failures, other.Failures...)
}

func addCounts[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}
