package sim

import (
	"flag"
	"strings"
	"testing"
)

var (
	seeds  = flag.Int("sim.seeds", 2000, "how many random scripts to run")
	first  = flag.Uint64("sim.seed", 1, "the first seed")
	length = flag.Int("sim.length", 600, "how many commands a random script has")
)

func TestEveryInvariantHoldsInRandomRuns(t *testing.T) {
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		lines := Script(seed, *length)
		if law := Broken(Real(), lines); law != "" {
			short := Shrink(Real(), lines)
			story, _ := Tell(Real(), strings.Join(short, "\n"))
			t.Fatalf("seed %d breaks %q\nthis script replays it:\n%s\n\nwhat happens:\n%s", seed, law, strings.Join(short, "\n"), story)
		}
	}
}
