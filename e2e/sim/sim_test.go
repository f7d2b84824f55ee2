package sim

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

var (
	seeds  = flag.Int("sim.seeds", 2000, "how many random scripts to run")
	first  = flag.Uint64("sim.seed", 1, "the first seed")
	length = flag.Int("sim.length", 600, "how many commands a random script has")
)

// enough is how many schedules must come across everything.
const enough = 2000

func TestEveryInvariantHoldsInRandomRuns(t *testing.T) {
	checks, reached, policies := map[string]int{}, map[Event]int{}, map[string]int{}
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		lines := Script(seed, *length)
		result := Explore(Real(), lines)
		add(checks, result.Checks)
		add(reached, result.Reached)
		policies[result.Policy]++
		if law := result.Violation; law != "" {
			short := Shrink(Real(), lines)
			story, _ := Tell(Real(), strings.Join(short, "\n"))
			t.Fatalf("seed %d breaks %q\nthis script replays it:\n%s\n\nwhat happens:\n%s", seed, law, strings.Join(short, "\n"), story)
		}
		if law := BrokenByRank(Real().Rank, seed, checks); law != "" {
			t.Fatalf("placement breaks %q with seed %d", law, seed)
		}
	}
	laws := slices.Concat(Laws(), RankLaws())
	total := 0
	for _, n := range checks {
		total += n
	}
	t.Logf("%d schedules (%s) with seeds from %d, %d invariants, checked %d times: none broken", *seeds, shares(policies), *first, len(laws), total)
	t.Logf("checks by invariant:\n%s", table(checks))
	t.Logf("events come across:\n%s", table(reached))
	if *seeds < enough {
		return
	}
	for _, law := range laws {
		if checks[law] == 0 {
			t.Errorf("%q was never put to the test", law)
		}
	}
	for _, e := range Events() {
		if reached[e] == 0 {
			t.Errorf("no schedule came across this: %s", e)
		}
	}
}

func add[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

// table lists counts, the smallest first.
func table[K ~string](counts map[K]int) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b)) })
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%9d  %s\n", counts[k], k)
	}
	return b.String()
}

func shares(policies map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		parts = append(parts, fmt.Sprintf("%d %s", policies[name], name))
	}
	return strings.Join(parts, ", ")
}
