package sim

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"switchyard.dev/e2e/sim/script"
)

var (
	seedCount      = flag.Uint64("sim.seeds", 2000, "how many random scripts to run")
	firstSeed      = flag.Uint64("sim.seed", 1, "the first seed")
	freshSeedCount = flag.Uint64("sim.fresh", 2000, "how many random scripts to run with seeds that are drawn from the commit")
	scriptLength   = flag.Int("sim.length", 600, "how many commands a random script has")
)

// minSchedules is how many schedules must come across everything.
const minSchedules = 2000

// Worlds are small and short-lived: collecting them often would cost more than running them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}

// The seeds are always the same, so that what they come across does not depend on luck.
func TestEveryInvariantHoldsInRandomRuns(t *testing.T) {
	found := searchSeeds(t, *firstSeed, *seedCount)
	laws := slices.Concat(Invariants(), RankInvariants())
	if *seedCount < minSchedules {
		return
	}
	for _, law := range laws {
		if found.Checks[law] == 0 {
			t.Errorf("%q was never put to the test", law)
		}
	}
	for _, e := range Events() {
		if found.Events[e] == 0 {
			t.Errorf("no schedule came across this: %s", e)
		}
	}
}

// Every commit searches ground of its own.
func TestEveryInvariantHoldsInFreshRuns(t *testing.T) {
	from, drawn := freshSeed()
	fmt.Fprintf(os.Stdout, "%d fresh schedules with seeds from %d, drawn from %s\n", *freshSeedCount, from, drawn)
	searchSeeds(t, from, *freshSeedCount)
}

func TestFreshSeedsDoNotOverlap(t *testing.T) {
	a, b := seedOf("0000000001ffffffffff"), seedOf("0000000002000000000")
	if a == 0 || b-a < 1_000_000 {
		t.Errorf("seeds from %d and from %d", a, b)
	}
	if again := seedOf("0000000001aaaaaaaaaa"); again != a {
		t.Errorf("the same beginning gives %d and %d", a, again)
	}
	if got := seedOf("no hash"); got != 0 {
		t.Errorf("what is no hash gives %d", got)
	}
}

// freshSeed returns the first of a million seeds that belong to the commit, and says what it was drawn from. Where there is no
// commit to be known, they go by chance.
func freshSeed() (from uint64, drawn string) {
	commit := os.Getenv("SWITCHYARD_COMMIT")
	if commit == "" {
		out, _ := exec.Command("git", "rev-parse", "HEAD").Output()
		commit = strings.TrimSpace(string(out))
	}
	if from := seedOf(commit); from > 0 {
		return from, "commit " + commit
	}
	return seedOf(fmt.Sprintf("%010x", rand.Uint64N(1<<40))), "chance, there being no commit"
}

// seedOf is the first seed of a commit's, 0 if it is none. Its first ten digits count.
func seedOf(commit string) uint64 {
	n, err := strconv.ParseUint(commit[:min(10, len(commit))], 16, 64)
	if err != nil {
		return 0
	}
	return (n + 1) * 1_000_000
}

// searchSeeds runs schedules and fails with the first that breaks an invariant, in its shortest form; of others it names the seeds.
func searchSeeds(t *testing.T, from, n uint64) SearchResult {
	t.Helper()
	found := SearchSeeds(RealParts(), from, n, *scriptLength)
	total := 0
	for _, n := range found.Checks {
		total += n
	}
	t.Logf("%d schedules (%s) with seeds from %d, %d invariants, checked %d times: broken in %d", found.Schedules, formatShares(found.Policies), from,
		len(Invariants())+len(RankInvariants()), total, len(found.Failures))
	t.Logf("checks by invariant:\n%s", formatCounts(found.Checks))
	t.Logf("events come across:\n%s", formatCounts(found.Events))
	for i, f := range found.Failures {
		t.Errorf("seed %d breaks %q\nreplay it: go test ./e2e/sim -run InRandomRuns -sim.seeds 1 -sim.seed %d -sim.length %d", f.Seed, f.Violation, f.Seed, *scriptLength)
		if i == 0 && !f.InRanking {
			short := strings.Join(Shrink(RealParts(), script.Random(f.Seed, *scriptLength)), "\n")
			story, _ := Trace(RealParts(), short)
			t.Errorf("this script replays it:\n%s\n\nwhat happens:\n%s", short, story)
		}
	}
	if len(found.Failures) > 0 {
		t.FailNow()
	}
	return found
}

// formatCounts lists counts, the smallest first.
func formatCounts[K ~string](counts map[K]int) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b)) })
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%9d  %s\n", counts[k], k)
	}
	return b.String()
}

func formatShares(policies map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		parts = append(parts, fmt.Sprintf("%d %s", policies[name], name))
	}
	return strings.Join(parts, ", ")
}
