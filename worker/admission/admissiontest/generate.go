package admissiontest

import (
	"fmt"
	"strings"
)

// GenerateScript turns bytes into a script that makes sense most of the time, for fuzzing: the same bytes always give the same
// script, and a failing script can be read, cut down and kept as a test.
func GenerateScript(data []byte) string {
	g := &generator{bytes: data}
	var lines []string
	for len(g.bytes) > 0 && len(lines) < 60 {
		lines = append(lines, g.line())
	}
	return strings.Join(lines, "\n")
}

// GenerateRichScript is Script with preemption, shares, turns by usage and fewer pods in it, in queues that are nearly full. Its
// only cycle is the last line.
func GenerateRichScript(data []byte) string {
	g := &generator{bytes: data}
	last := "cycle" + g.choose("", " fair") + g.choose("", "", " max=2", " without-partial", " preemptors-first",
		" without-priority", " without-fungibility", " without-non-borrowing-first", " without-nominal-bypass")
	lines := []string{"flavor f", "flavor g label=kind:f", "cohort x parent=y" + g.choose("", " weight=2"), "cohort y f gpu=3"}
	for _, name := range []string{"a", "b", "c", "d"} {
		lines = append(lines, g.richQueue(name))
	}
	for len(g.bytes) > 0 && len(lines) < 60 {
		lines = append(lines, g.richLine())
	}
	return strings.Join(append(lines, last), "\n")
}

func (g *generator) richQueue(name string) string {
	policy := func(word string, policies ...string) string {
		if p := g.choose(policies...); p != "" {
			return " " + word + "=" + p
		}
		return ""
	}
	return "queue " + name + g.choose("", "", " strict") + g.choose("", " borrow-next") + g.choose("", " preempt-stop") +
		g.choose("", " prefer-borrowing") + g.choose(" cohort=x", " cohort=x", " cohort=y", "") +
		policy("preempt", "", "LowerPriority", "LowerOrNewerEqualPriority") + policy("reclaim", "", "LowerPriority", "Any") +
		policy("borrow-within", "", "LowerPriority", "LowerPriority:1") + policy("weight", "", "2", "0") +
		g.choose("", "", "", " usage-based") + g.richQuotas()
}

func (g *generator) richQuotas() string {
	text := ""
	for _, flavor := range []string{" f", " g"} {
		text += flavor + fmt.Sprintf(" gpu=%d", g.intn(6)) + g.choose("", "", "", fmt.Sprintf(" borrow=%d", g.intn(4)))
		text += g.choose("", "", "", fmt.Sprintf(" lend=%d", g.intn(4)))
	}
	return text
}

func (g *generator) richLine() string {
	switch g.intn(12) {
	case 0, 1, 2, 3, 4:
		return fmt.Sprintf("admitted v%d %s uid=h%d prio=%d at=%d since=%d%s f/gpu=%d%s", g.intn(16), g.richQueueNames(), g.intn(100), g.intn(3), g.intn(8), g.intn(20), g.choose("", "", "", "", " evicted"),
			1+g.intn(4), g.choose("", fmt.Sprintf(" g/gpu=%d", g.intn(3))))
	case 5:
		return g.choose("release v", "remove w") + fmt.Sprint(g.intn(12))
	case 6:
		return fmt.Sprintf("usage %s%d %d", g.queue(), g.intn(2), g.intn(4))
	default:
		return g.richPending()
	}
}

// richQueueNames names a queue and one of its two LocalQueues.
func (g *generator) richQueueNames() string {
	queue := g.queue()
	return fmt.Sprintf("queue=%s lq=%s%d", queue, queue, g.intn(2))
}

func (g *generator) richPending() string {
	text := fmt.Sprintf("pending %s %s prio=%d at=%d gpu=%d", g.workload(), g.richQueueNames(), g.intn(4), g.intn(8), 1+g.intn(3))
	text += g.choose("", "", "", "", " select=kind:f", " gate=hold", " after=9", " blocked=Misconfigured aside")
	return text + g.choose("", "", "", " count=5 min=2", " count=2", " count=3 min=1", fmt.Sprintf(" + more gpu=%d", g.intn(3)))
}

type generator struct {
	bytes []byte
	clock int
}

// intn returns a number below n, 0 once the bytes are used up.
func (g *generator) intn(n int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := int(g.bytes[0])
	g.bytes = g.bytes[1:]
	return b % n
}

func (g *generator) choose(words ...string) string { return words[g.intn(len(words))] }

func (g *generator) queue() string    { return g.choose("a", "b", "c", "d") }
func (g *generator) cohort() string   { return g.choose("x", "y", "z") }
func (g *generator) workload() string { return fmt.Sprintf("w%d", g.intn(12)) }

func (g *generator) line() string {
	switch g.intn(20) {
	case 0, 1, 2:
		return "queue " + g.queue() + g.choose("", " strict", " inactive", " borrow-next", "", "") +
			g.choose("", " cohort="+g.cohort(), " cohort=x", " cohort=x") + g.quotas()
	case 3:
		return "cohort " + g.cohort() + g.choose("", " parent="+g.cohort()) + g.choose("", g.quotas())
	case 4:
		return "flavor " + g.choose("f", "g") + g.choose("", " label=kind:f", " label=kind:g", " taint=k:NoSchedule")
	case 5, 6, 7, 8, 9, 10:
		return g.pending()
	case 11, 12:
		return fmt.Sprintf("admitted %s queue=%s f/gpu=%d g/gpu=%d", g.workload(), g.queue(), g.intn(6), g.intn(6))
	case 13:
		return g.choose("release ", "remove ", "forget ", "release ") + g.workload()
	case 14:
		return "delete " + g.choose("queue "+g.queue(), "cohort "+g.cohort(), "flavor "+g.choose("f", "g"))
	default:
		g.clock += g.intn(20)
		return fmt.Sprintf("cycle at=%d%s", g.clock, g.choose("", "", " max=1"))
	}
}

func (g *generator) quotas() string {
	text := ""
	for _, flavor := range []string{" f", " g"} {
		text += flavor + fmt.Sprintf(" gpu=%d", g.intn(9))
		text += g.choose("", "", fmt.Sprintf(" borrow=%d", g.intn(6)))
		text += g.choose("", "", fmt.Sprintf(" lend=%d", g.intn(6)))
	}
	return text + g.choose("", fmt.Sprintf(" | cpus cpu=%dm", g.intn(40)))
}

func (g *generator) pending() string {
	text := fmt.Sprintf("pending %s queue=%s prio=%d at=%d gpu=%d", g.workload(), g.queue(), g.intn(3), g.intn(8), 1+g.intn(5))
	text += g.choose("", "", "", fmt.Sprintf(" cpu=%dm", g.intn(20)))
	text += g.choose("", "", "", fmt.Sprintf(" count=%d", g.intn(4)))
	text += g.choose("", "", "", "", " select=kind:f", " tolerate=k")
	return text + g.choose("", "", "", "", "", "", fmt.Sprintf(" after=%d", g.clock+g.intn(20)), " blocked=Misconfigured aside", " blocked=PendingEvaluation")
}
