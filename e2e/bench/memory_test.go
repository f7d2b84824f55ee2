package bench

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/e2e/clusters"
)

var (
	benchMemory = flag.String("bench-memory", "", "runs on in-memory API servers, comma-separated: alone, latency, sick, hostile, restart; none skips the benchmark")
	benchSize   = flag.Int("bench-memory-jobs", 0, "how many Jobs such a run has, instead of its own number")
	benchFleet  = flag.Int("bench-memory-workers", 0, "how many workers such a run has, instead of its own number")
	benchRate   = flag.Float64("bench-memory-rate", 0, "Jobs a second of the runs latency (all at once by default), sick and hostile (20)")
	benchLimits = flag.Float64("bench-memory-qps", 10000, "the hub's own client limit (clientConnection.qps) in these runs; 0 leaves the default")
)

// memoryFleetSpec builds a fleet in memory that ends with the test.
func memoryFleetSpec(t *testing.T, o memoryFleetOptions) *memoryFleet {
	t.Helper()
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	o.programs, o.dispatcher = cmp.Or(*benchPrograms, filepath.Join(root, "bin")), dispatcherNamed(*benchDispatcher)
	o.configuration = map[string]any{}
	if *benchLimits > 0 {
		o.configuration["clientConnection"] = map[string]any{"qps": *benchLimits, "burst": int(2 * *benchLimits)}
	}
	if *benchProfile != "" {
		o.configuration["pprofBindAddress"] = *benchProfile
	}
	h, err := startMemoryFleet(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.removeData(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *memoryFleet) mustRun(t *testing.T, name string, jobs int, rate float64, counts func(int) bool) memoryFleetResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stuckAfter)
	defer cancel()
	f, err := h.run(ctx, name, jobs, rate, counts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func show(t *testing.T, title string, runs ...memoryFleetResult) {
	t.Helper()
	if err := printMemoryFleet(os.Stdout, title+", "+*benchDispatcher, runs); err != nil {
		t.Fatal(err)
	}
}

func wanted(t *testing.T, name string) {
	t.Helper()
	for _, is := range strings.Split(*benchMemory, ",") {
		if is == name {
			ctrl.SetLogger(logr.Discard())
			return
		}
	}
	t.Skip("give -bench-memory (make bench-memory does)")
}

// TestMemoryAloneBench measures the hub alone: its API server answers after 1 ms, the workers' at once.
func TestMemoryAloneBench(t *testing.T) {
	wanted(t, "alone")
	h := memoryFleetSpec(t, memoryFleetOptions{workers: cmp.Or(*benchFleet, perCheck), latency: time.Millisecond})
	jobs := cmp.Or(*benchSize, 2000)
	runs := []memoryFleetResult{h.mustRun(t, "first", jobs/10, 0, nil), h.mustRun(t, "alone", jobs, 0, nil)}
	for i := range runs {
		if err := h.finish(t.Context(), &runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	show(t, "the hub alone, API server of 1 ms (target: 500 jobs/s)", runs...)
}

// TestMemoryLatencyBench puts workers 100 ms away, there and back.
func TestMemoryLatencyBench(t *testing.T) {
	wanted(t, "latency")
	h := memoryFleetSpec(t, memoryFleetOptions{workers: cmp.Or(*benchFleet, perCheck), latency: time.Millisecond, delay: 50 * time.Millisecond})
	jobs := cmp.Or(*benchSize, 1000)
	show(t, "workers 100 ms away", h.mustRun(t, "latency", jobs, *benchRate, nil))
}

// TestMemorySickBench lets five of twenty workers vanish without a word and two answer after 10 s, just when Jobs come, and
// then compares with the thirteen others by themselves, in turns: what else the machine does hits both alike.
func TestMemorySickBench(t *testing.T) {
	wanted(t, "sick")
	const black, slow, turns = 5, 2, 5
	jobs, rate := cmp.Or(*benchSize, 600), cmp.Or(*benchRate, 20)
	healthy := memoryFleetSpec(t, memoryFleetOptions{workers: perCheck - black - slow, latency: time.Millisecond})
	h := memoryFleetSpec(t, memoryFleetOptions{workers: perCheck, latency: time.Millisecond})
	for _, warming := range []*memoryFleet{healthy, h} {
		warming.mustRun(t, "warm", jobs/10, rate, nil)
	}
	for i := range black {
		h.links[i].BlackHole()
	}
	for i := black; i < black+slow; i++ {
		h.workers[i].server.SetLatency(10 * time.Second)
	}
	well := func(worker int) bool { return worker >= black+slow }
	p99 := func(waits []time.Duration) float64 { return float64(quantile(waits, 0.99)) }
	runs := []memoryFleetResult{h.mustRun(t, "falling-sick", jobs, rate, well)}
	var without, ratios []float64
	for turn := range turns {
		a := healthy.mustRun(t, fmt.Sprintf("without-%d", turn), jobs/turns, rate, nil)
		b := h.mustRun(t, fmt.Sprintf("sick-%d", turn), jobs/turns, rate, well)
		runs = append(runs, a, b)
		without, ratios = append(without, p99(a.waits)), append(ratios, p99(b.waits)/p99(a.waits))
	}
	show(t, "5 of 20 workers silent, 2 answer after 10 s (target: p99 within 1.2 of without)", runs...)
	t.Logf("p99, times that without them: %.2f (%.2f by turns); of Jobs offered to none of them while they fell sick %.2f",
		median(ratios), ratios, p99(runs[0].direct)/median(without))
}

// TestMemoryHostileBench has three of twenty workers do to the hub what they can, and compares with three that are gone instead, in
// turns: what else the machine does hits both alike.
func TestMemoryHostileBench(t *testing.T) {
	wanted(t, "hostile")
	for _, c := range []struct {
		name    string
		manners []hostileBehaviour
	}{{"beyond", behavioursBeyondLimits()}, {"within", behavioursWithinLimits()}} {
		t.Run(c.name, func(t *testing.T) { compareHostile(t, c.name, c.manners) })
	}
}

func compareHostile(t *testing.T, name string, manners []hostileBehaviour) {
	t.Helper()
	const turns = 9
	jobs, rate := cmp.Or(*benchSize, 900), cmp.Or(*benchRate, 20)
	quiet := memoryFleetSpec(t, memoryFleetOptions{workers: perCheck, latency: time.Millisecond})
	hostile := memoryFleetSpec(t, memoryFleetOptions{workers: perCheck, latency: time.Millisecond})
	for i := range manners {
		quiet.links[i].Partition()
	}
	hostile.makeHostile(manners)
	well := func(worker int) bool { return worker >= len(manners) }
	sides := []*memoryFleet{quiet, hostile}
	names := []string{"quiet", "hostile"}
	var runs []memoryFleetResult
	for i, h := range sides {
		runs = append(runs, h.mustRun(t, "first-"+names[i], jobs/turns, rate, well))
	}
	p50, p99 := make([][]float64, 2), make([][]float64, 2)
	var ratios []float64
	for turn := range turns {
		for i := range sides {
			side := (turn + i) % 2 // neither always comes first
			f := sides[side].mustRun(t, fmt.Sprintf("%s-%d", names[side], turn), jobs/turns, rate, well)
			runs = append(runs, f)
			p50[side], p99[side] = append(p50[side], float64(quantile(f.waits, 0.5))), append(p99[side], float64(quantile(f.waits, 0.99)))
		}
		ratios = append(ratios, p99[1][turn]/p99[0][turn])
	}
	show(t, "3 of 20 workers hostile, "+name+" the bounds (target: p99 within 1.2 of quiet)", runs...)
	t.Logf("%s the bounds: p99 of the healthy, times that beside quiet ones: %.2f (%.2f by turns; the medians' ratio %.2f); p50 %.2f",
		name, median(ratios), ratios, median(p99[1])/median(p99[0]), median(p50[1])/median(p50[0]))
}

// median is that of a list that has any.
func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// TestMemoryRestartBench has a hub hold Workloads that run on a hundred workers, kills it and starts it again.
func TestMemoryRestartBench(t *testing.T) {
	wanted(t, "restart")
	h := memoryFleetSpec(t, memoryFleetOptions{workers: cmp.Or(*benchFleet, 100)})
	held := cmp.Or(*benchSize, 50_000)
	h.hub.SetLatency(time.Millisecond)
	r, err := h.restart(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	if err := printRestart(os.Stdout, r); err != nil {
		t.Fatal(err)
	}
}
