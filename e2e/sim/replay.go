package sim

import (
	"fmt"
	"slices"
	"strings"
)

// FindViolation runs a script and returns the invariant it breaks, "" if none.
func FindViolation(parts Parts, lines []string) string {
	return Replay(parts, lines).Violation
}

// Result is what comes of a script.
type Result struct {
	// Violation is the invariant that was broken first, empty if none.
	Violation string
	// Checks is how often each invariant was put to the test, and Reached how often each event was come across.
	Checks map[string]int
	Events map[Event]int
	// Policy is the one that held in the end.
	Policy string
}

// Replay runs a script with the given parts until an invariant is broken.
func Replay(parts Parts, lines []string) Result {
	w := New(parts)
	for n, line := range lines {
		err := w.RunCommand(line)
		switch {
		case err != nil:
			w.history.violation = fmt.Sprintf("the script is wrong: line %d: %q: %v", n+1, line, err)
		case w.history.violation == "":
			continue
		}
		return w.buildResult()
	}
	return w.buildResult()
}

func (w *World) buildResult() Result {
	return Result{Violation: w.history.violation, Checks: w.history.checkCounts, Events: w.history.eventCounts, Policy: w.policy.Name()}
}

// Shrink takes lines out of a script as long as what is left still breaks the same invariant. The first line, which makes
// the clusters, stays.
func Shrink(parts Parts, lines []string) []string {
	law := invariantOf(FindViolation(parts, lines))
	for size := len(lines) / 2; size > 0; size /= 2 {
		for at := 1; at+size <= len(lines); {
			shorter := append(append([]string{}, lines[:at]...), lines[at+size:]...)
			if invariantOf(FindViolation(parts, shorter)) == law {
				lines = shorter
			} else {
				at += size
			}
		}
	}
	return lines
}

// invariantOf is the invariant's name in a violation.
func invariantOf(violation string) string {
	for _, law := range slices.Concat(Invariants(), RankInvariants()) {
		if strings.HasPrefix(violation, law+":") {
			return law
		}
	}
	return violation
}

// Trace runs a script and returns the story: every command and what happened.
func Trace(parts Parts, script string) (string, error) {
	w := New(parts)
	w.out = &strings.Builder{}
	for n, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		fmt.Fprintln(w.out, strings.TrimRight("> "+line, " "))
		if err := w.RunCommand(line); err != nil {
			return w.out.String(), fmt.Errorf("line %d: %q: %w", n+1, line, err)
		}
	}
	return w.out.String(), nil
}
