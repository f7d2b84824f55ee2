package preempt_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/preempt"
)

// world draws a small world and a need from bytes: the same bytes always draw the same.
type world struct{ bytes []byte }

func (g *world) below(n int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := int(g.bytes[0])
	g.bytes = g.bytes[1:]
	return b % n
}

func (g *world) of(words ...string) string { return words[g.below(len(words))] }

func (g *world) script() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if g.below(2) == 0 {
		add("cohort l parent=top%s%s", g.weight(), g.of("", " f gpu=2", " g gpu=2 lend=1"))
		add("cohort r parent=top%s%s", g.weight(), g.of("", " f gpu=2 borrow=1", " f gpu=1 cpu=2000m"))
		add("cohort top%s", g.of("", " f gpu=2"))
	}
	for _, queue := range []string{"a", "b", "c", "d"} {
		add("queue %s%s%s preempt=%s reclaim=%s%s%s f gpu=%d%s cpu=%dm g gpu=%d cpu=2m", queue,
			g.of(" cohort=l", " cohort=r", " cohort=l", " cohort=top", ""), g.weight(),
			g.of("LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority", "Never"),
			g.of("Any", "LowerPriority", "Any", "Never"),
			g.of("", " borrow-within=LowerPriority", " borrow-within=LowerPriority:1"), g.of("", "", " usage-based"),
			g.below(5), g.of("", "", " borrow=1", " lend=1", " borrow=3", " lend=0"), g.below(5), g.below(3))
	}
	add("usage heavy %d", 1+g.below(3))
	for i := range g.below(12) {
		add("admitted v%d queue=%s lq=%s prio=%d at=%d since=%d%s f/gpu=%d f/cpu=%dm%s", i, g.of("a", "b", "c", "d"),
			g.of("light", "heavy"), g.below(4), g.below(4), g.below(3), g.of("", "", "", "", "", " evicted"),
			g.below(4), g.below(3), g.of("", "", " g/gpu=1", " g/gpu=2"))
	}
	return strings.Join(lines, "\n")
}

func (g *world) weight() string { return g.of("", "", " weight=0.5", " weight=2", " weight=0") }

func (g *world) need() string {
	return fmt.Sprintf("queue=a prio=%d at=%d f/gpu=%d%s", g.below(5), g.below(5), 1+g.below(4),
		g.of("", "", fmt.Sprintf(" f/cpu=%dm", g.below(4)), " g/gpu=1"))
}

func (g *world) options() preempt.Options {
	o := preempt.Options{FairSharing: g.below(2) == 0, WithinNominal: g.below(2) == 0}
	switch a, b := preempt.LessThanOrEqualToFinalShare, preempt.LessThanInitialShare; g.below(4) {
	case 0:
		o.Strategies = []preempt.Strategy{a}
	case 1:
		o.Strategies = []preempt.Strategy{b}
	default:
		o.Strategies = []preempt.Strategy{a, b}
	}
	return o
}

func eachWorld(t *testing.T, worlds int, check func(*testing.T, []byte)) {
	t.Helper()
	for seed := range int64(worlds) {
		data := make([]byte, 220)
		rand.New(rand.NewSource(seed)).Read(data)
		check(t, data)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func factsOf(t *testing.T, script string) *admissiontest.Facts {
	t.Helper()
	steps, err := admissiontest.Parse(script)
	if err != nil {
		t.Fatalf("%v in\n%s", err, script)
	}
	f := admissiontest.NewFacts()
	for _, step := range steps {
		f.Apply(step)
	}
	return f
}

func TestTheSearchFindsWhatTheNaiveOneFinds(t *testing.T) {
	found := 0
	eachWorld(t, 1500, func(t *testing.T, data []byte) {
		t.Helper()
		if findLikeTheNaive(t, data) {
			found++
		}
	})
	if found < 150 {
		t.Errorf("only %d worlds had victims", found)
	}
}

func FuzzTheSearchFindsWhatTheNaiveOneFinds(f *testing.F) {
	data := make([]byte, 220)
	rand.New(rand.NewSource(1)).Read(data)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { findLikeTheNaive(t, data) })
}

func findLikeTheNaive(t *testing.T, data []byte) (found bool) {
	t.Helper()
	g := &world{bytes: data}
	script, text, options := g.script(), g.need(), g.options()
	facts, need := factsOf(t, script), needOf(t, text)
	s := facts.Snapshot()
	before, version := pictureOf(s), s.QuotaVersion("a")
	x := preempt.New(s, options)
	got := x.Find(need)
	if diff := cmp.Diff(naiveFind(facts, need, options), got); diff != "" {
		t.Errorf("the naive search and this one differ:\n%s\nin\n%s\nneed %s, %+v", diff, script, text, options)
	}
	if diff := cmp.Diff(before, pictureOf(s)); diff != "" || version != s.QuotaVersion("a") {
		t.Errorf("the search left a trace:\n%s\nin\n%s\nneed %s, %+v", diff, script, text, options)
	}
	if diff := cmp.Diff(got, x.Find(need)); diff != "" {
		t.Errorf("a second search finds others:\n%s\nin\n%s\nneed %s", diff, script, text)
	}
	return len(got) > 0
}

// pictureOf is every number of the quota tree.
func pictureOf(s *admission.Snapshot) []string {
	var lines []string
	for _, queue := range []string{"a", "b", "c", "d"} {
		lines = append(lines, fmt.Sprint(queue, s.Quota().Uses(queue), s.QueueShare(queue)))
		for _, name := range universe {
			if cell := s.Quota().Cell(queue, name); cell != nil {
				lines = append(lines, fmt.Sprint(cell.Usage(), cell.Available()))
			}
		}
	}
	for _, cohort := range []string{"l", "r", "top"} {
		lines = append(lines, fmt.Sprint(cohort, s.CohortShare(cohort)))
	}
	return lines
}
