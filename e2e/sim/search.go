package sim

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Search is what came of the random scripts of many seeds.
type Search struct {
	// Schedules is how many were run. Checks, Reached and Policies are counted as in Result.
	Schedules int
	Checks    map[string]int
	Reached   map[Event]int
	Policies  map[string]int
	// Failures are the seeds that broke an invariant, the smallest first.
	Failures []Failure
}

// Failure is a seed that breaks an invariant. By rank says that it is one of placement, which no script replays.
type Failure struct {
	Seed   uint64
	Broken string
	ByRank bool
}

// enoughFailures is how many end a search: one must not hide the others, nor all of them be waited for.
const enoughFailures = 20

// Explored runs the scripts of so many seeds from a first one, with so many commands each, on all processors.
func Explored(parts Parts, first, seeds uint64, length int) Search {
	var next, failures atomic.Uint64
	found := make([]Search, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range found {
		running.Go(func() {
			s := &found[i]
			*s = Search{Checks: map[string]int{}, Reached: map[Event]int{}, Policies: map[string]int{}}
			for failures.Load() < enoughFailures {
				n := next.Add(1) - 1
				if n >= seeds {
					return
				}
				if s.one(parts, first+n, length) {
					failures.Add(1)
				}
			}
		})
	}
	running.Wait()
	total := found[0]
	for _, s := range found[1:] {
		total.add(s)
	}
	slices.SortFunc(total.Failures, func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	return total
}

// one runs one seed and reports whether it breaks an invariant.
func (s *Search) one(parts Parts, seed uint64, length int) bool {
	result := Explore(parts, Script(seed, length))
	s.Schedules++
	s.Policies[result.Policy]++
	count(s.Checks, result.Checks)
	count(s.Reached, result.Reached)
	f := Failure{Seed: seed, Broken: result.Violation}
	if f.Broken == "" {
		f.Broken, f.ByRank = BrokenByRank(parts.Rank, seed, s.Checks), true
	}
	if f.Broken != "" {
		s.Failures = append(s.Failures, f)
	}
	return f.Broken != ""
}

func (s *Search) add(other Search) {
	s.Schedules += other.Schedules
	count(s.Checks, other.Checks)
	count(s.Reached, other.Reached)
	count(s.Policies, other.Policies)
	s.Failures = append(s.Failures, other.Failures...)
}

func count[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}
