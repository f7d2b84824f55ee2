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

// scriptGenerator draws a small world and a need from bytes: the same bytes always draw the same.
type scriptGenerator struct{ bytes []byte }

func (g *scriptGenerator) intn(n int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := int(g.bytes[0])
	g.bytes = g.bytes[1:]
	return b % n
}

func (g *scriptGenerator) choose(words ...string) string { return words[g.intn(len(words))] }

func (g *scriptGenerator) script() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if g.intn(2) == 0 {
		add("cohort l parent=top%s%s", g.weight(), g.choose("", " f gpu=2", " g gpu=2 lend=1"))
		add("cohort r parent=top%s%s", g.weight(), g.choose("", " f gpu=2 borrow=1", " f gpu=1 cpu=2000m"))
		add("cohort top%s", g.choose("", " f gpu=2"))
	}
	for _, queue := range []string{"a", "b", "c", "d"} {
		add("queue %s%s%s preempt=%s reclaim=%s%s%s f gpu=%d%s cpu=%dm g gpu=%d cpu=2m", queue,
			g.choose(" cohort=l", " cohort=r", " cohort=l", " cohort=top", ""), g.weight(),
			g.choose("LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority", "Never"),
			g.choose("Any", "LowerPriority", "Any", "Never"),
			g.choose("", " borrow-within=LowerPriority", " borrow-within=LowerPriority:1"), g.choose("", "", " usage-based"),
			g.intn(5), g.choose("", "", " borrow=1", " lend=1", " borrow=3", " lend=0"), g.intn(5), g.intn(3))
	}
	add("usage heavy %d", 1+g.intn(3))
	for i := range g.intn(12) {
		add("admitted v%d queue=%s lq=%s prio=%d at=%d since=%d%s f/gpu=%d f/cpu=%dm%s", i, g.choose("a", "b", "c", "d"),
			g.choose("light", "heavy"), g.intn(4), g.intn(4), g.intn(3), g.choose("", "", "", "", "", " evicted"),
			g.intn(4), g.intn(3), g.choose("", "", " g/gpu=1", " g/gpu=2"))
	}
	return strings.Join(lines, "\n")
}

func (g *scriptGenerator) weight() string {
	return g.choose("", "", " weight=0.5", " weight=2", " weight=0")
}

func (g *scriptGenerator) request() string {
	return fmt.Sprintf("queue=a prio=%d at=%d f/gpu=%d%s", g.intn(5), g.intn(5), 1+g.intn(4),
		g.choose("", "", fmt.Sprintf(" f/cpu=%dm", g.intn(4)), " g/gpu=1"))
}

func (g *scriptGenerator) options() preempt.Options {
	o := preempt.Options{FairSharing: g.intn(2) == 0, WithinNominal: g.intn(2) == 0}
	switch a, b := preempt.LessThanOrEqualToFinalShare, preempt.LessThanInitialShare; g.intn(4) {
	case 0:
		o.Strategies = []preempt.Strategy{a}
	case 1:
		o.Strategies = []preempt.Strategy{b}
	default:
		o.Strategies = []preempt.Strategy{a, b}
	}
	return o
}

func forEachSeed(t *testing.T, worlds int, check func(*testing.T, []byte)) {
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

func parseFacts(t *testing.T, script string) *admissiontest.Facts {
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

func TestSearchMatchesNaiveSearch(t *testing.T) {
	found := 0
	forEachSeed(t, 1500, func(t *testing.T, data []byte) {
		t.Helper()
		if compareWithNaive(t, data) {
			found++
		}
	})
	if found < 150 {
		t.Errorf("only %d worlds had victims", found)
	}
}

func FuzzSearchMatchesNaiveSearch(f *testing.F) {
	data := make([]byte, 220)
	rand.New(rand.NewSource(1)).Read(data)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { compareWithNaive(t, data) })
}

func compareWithNaive(t *testing.T, data []byte) (found bool) {
	t.Helper()
	g := &scriptGenerator{bytes: data}
	script, text, options := g.script(), g.request(), g.options()
	facts, need := parseFacts(t, script), parseRequest(t, text)
	s := facts.Snapshot()
	before, version := quotaText(s), s.QuotaVersion("a")
	x := preempt.New(s, options)
	got := x.Find(need)
	if diff := cmp.Diff(naiveFind(facts, need, options), got); diff != "" {
		t.Errorf("the naive search and this one differ:\n%s\nin\n%s\nneed %s, %+v", diff, script, text, options)
	}
	if diff := cmp.Diff(before, quotaText(s)); diff != "" || version != s.QuotaVersion("a") {
		t.Errorf("the search left a trace:\n%s\nin\n%s\nneed %s, %+v", diff, script, text, options)
	}
	if diff := cmp.Diff(got, x.Find(need)); diff != "" {
		t.Errorf("a second search finds others:\n%s\nin\n%s\nneed %s", diff, script, text)
	}
	return len(got) > 0
}

// quotaText is every number of the quota tree.
func quotaText(s *admission.Snapshot) []string {
	var lines []string
	for _, queue := range []string{"a", "b", "c", "d"} {
		lines = append(lines, fmt.Sprint(queue, s.Quota().QueueUsage(queue), s.QueueShare(queue)))
		for _, name := range allFlavorResources {
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
