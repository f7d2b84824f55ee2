package sim

import (
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

func TestEveryInvariantHoldsInRandomRuns(t *testing.T) {
	checks, policies := 0, map[string]int{}
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		lines := Script(seed, *length)
		result := Explore(Real(), lines)
		checks += result.Checks
		policies[result.Policy]++
		if law := result.Violation; law != "" {
			short := Shrink(Real(), lines)
			story, _ := Tell(Real(), strings.Join(short, "\n"))
			t.Fatalf("seed %d breaks %q\nthis script replays it:\n%s\n\nwhat happens:\n%s", seed, law, strings.Join(short, "\n"), story)
		}
	}
	var shares []string
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		shares = append(shares, fmt.Sprintf("%d %s", policies[name], name))
	}
	t.Logf("%d schedules (%s) with seeds from %d, %d invariants, checked %d times: none broken",
		*seeds, strings.Join(shares, ", "), *first, len(Laws()), checks)
}
