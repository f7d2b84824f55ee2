package admissiontest

import (
	"fmt"
	"strings"
)

// Script turns bytes into a script that makes sense most of the time, for fuzzing: the same bytes always give the same
// script, and a failing script can be read, cut down and kept as a test.
func Script(data []byte) string {
	g := &generator{bytes: data}
	var lines []string
	for len(g.bytes) > 0 && len(lines) < 60 {
		lines = append(lines, g.line())
	}
	return strings.Join(lines, "\n")
}

// RichScript is Script with preemption, shares, turns by usage and fewer pods in it, in queues that are nearly full. Its
// only cycle is the last line.
func RichScript(data []byte) string {
	g := &generator{bytes: data}
	last := "cycle" + g.of("", " fair") + g.of("", "", " max=2", " without-partial", " preemptors-first",
		" without-priority", " without-fungibility", " without-non-borrowing-first", " without-nominal-bypass")
	lines := []string{"flavor f", "flavor g label=kind:f", "cohort x parent=y" + g.of("", " weight=2"), "cohort y f gpu=3"}
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
		if p := g.of(policies...); p != "" {
			return " " + word + "=" + p
		}
		return ""
	}
	return "queue " + name + g.of("", "", " strict") + g.of("", " borrow-next") + g.of("", " preempt-stop") +
		g.of("", " prefer-borrowing") + g.of(" cohort=x", " cohort=x", " cohort=y", "") +
		policy("preempt", "", "LowerPriority", "LowerOrNewerEqualPriority") + policy("reclaim", "", "LowerPriority", "Any") +
		policy("borrow-within", "", "LowerPriority", "LowerPriority:1") + policy("weight", "", "2", "0") +
		g.of("", "", "", " usage-based") + g.richQuotas()
}

func (g *generator) richQuotas() string {
	text := ""
	for _, flavor := range []string{" f", " g"} {
		text += flavor + fmt.Sprintf(" gpu=%d", g.below(6)) + g.of("", "", "", fmt.Sprintf(" borrow=%d", g.below(4)))
		text += g.of("", "", "", fmt.Sprintf(" lend=%d", g.below(4)))
	}
	return text
}

func (g *generator) richLine() string {
	switch g.below(12) {
	case 0, 1, 2, 3, 4:
		return fmt.Sprintf("admitted v%d %s uid=h%d prio=%d at=%d since=%d%s f/gpu=%d%s", g.below(16), g.richPlace(), g.below(100), g.below(3), g.below(8), g.below(20), g.of("", "", "", "", " evicted"),
			1+g.below(4), g.of("", fmt.Sprintf(" g/gpu=%d", g.below(3))))
	case 5:
		return g.of("release v", "remove w") + fmt.Sprint(g.below(12))
	case 6:
		return fmt.Sprintf("usage %s%d %d", g.queue(), g.below(2), g.below(4))
	default:
		return g.richPending()
	}
}

// richPlace names a queue and one of its two LocalQueues.
func (g *generator) richPlace() string {
	queue := g.queue()
	return fmt.Sprintf("queue=%s lq=%s%d", queue, queue, g.below(2))
}

func (g *generator) richPending() string {
	text := fmt.Sprintf("pending %s %s prio=%d at=%d gpu=%d", g.workload(), g.richPlace(), g.below(4), g.below(8), 1+g.below(3))
	text += g.of("", "", "", "", " select=kind:f", " gate=hold", " after=9", " blocked=Misconfigured aside")
	return text + g.of("", "", "", " count=5 min=2", " count=2", " count=3 min=1", fmt.Sprintf(" + more gpu=%d", g.below(3)))
}

type generator struct {
	bytes []byte
	clock int
}

// below returns a number below n, 0 once the bytes are used up.
func (g *generator) below(n int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := int(g.bytes[0])
	g.bytes = g.bytes[1:]
	return b % n
}

func (g *generator) of(words ...string) string { return words[g.below(len(words))] }

func (g *generator) queue() string    { return g.of("a", "b", "c", "d") }
func (g *generator) cohort() string   { return g.of("x", "y", "z") }
func (g *generator) workload() string { return fmt.Sprintf("w%d", g.below(12)) }

func (g *generator) line() string {
	switch g.below(20) {
	case 0, 1, 2:
		return "queue " + g.queue() + g.of("", " strict", " inactive", " borrow-next", "", "") +
			g.of("", " cohort="+g.cohort(), " cohort=x", " cohort=x") + g.quotas()
	case 3:
		return "cohort " + g.cohort() + g.of("", " parent="+g.cohort()) + g.of("", g.quotas())
	case 4:
		return "flavor " + g.of("f", "g") + g.of("", " label=kind:f", " label=kind:g", " taint=k:NoSchedule")
	case 5, 6, 7, 8, 9, 10:
		return g.pending()
	case 11, 12:
		return fmt.Sprintf("admitted %s queue=%s f/gpu=%d g/gpu=%d", g.workload(), g.queue(), g.below(6), g.below(6))
	case 13:
		return g.of("release ", "remove ", "forget ", "release ") + g.workload()
	case 14:
		return "delete " + g.of("queue "+g.queue(), "cohort "+g.cohort(), "flavor "+g.of("f", "g"))
	default:
		g.clock += g.below(20)
		return fmt.Sprintf("cycle at=%d%s", g.clock, g.of("", "", " max=1"))
	}
}

func (g *generator) quotas() string {
	text := ""
	for _, flavor := range []string{" f", " g"} {
		text += flavor + fmt.Sprintf(" gpu=%d", g.below(9))
		text += g.of("", "", fmt.Sprintf(" borrow=%d", g.below(6)))
		text += g.of("", "", fmt.Sprintf(" lend=%d", g.below(6)))
	}
	return text + g.of("", fmt.Sprintf(" | cpus cpu=%dm", g.below(40)))
}

func (g *generator) pending() string {
	text := fmt.Sprintf("pending %s queue=%s prio=%d at=%d gpu=%d", g.workload(), g.queue(), g.below(3), g.below(8), 1+g.below(5))
	text += g.of("", "", "", fmt.Sprintf(" cpu=%dm", g.below(20)))
	text += g.of("", "", "", fmt.Sprintf(" count=%d", g.below(4)))
	text += g.of("", "", "", "", " select=kind:f", " tolerate=k")
	return text + g.of("", "", "", "", "", "", fmt.Sprintf(" after=%d", g.clock+g.below(20)), " blocked=Misconfigured aside", " blocked=PendingEvaluation")
}
