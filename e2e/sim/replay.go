package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Broken runs a script and returns the invariant it breaks, "" if none.
func Broken(parts Parts, lines []string) string {
	return Explore(parts, lines).Violation
}

// Result is what comes of a script.
type Result struct {
	// Violation is the invariant that was broken first, empty if none.
	Violation string
	// Checks is how often each invariant was put to the test, and Reached how often each event was come across.
	Checks  map[string]int
	Reached map[Event]int
	// Policy is the one that held in the end.
	Policy string
}

// Explore runs a script with the given parts until an invariant is broken.
func Explore(parts Parts, lines []string) Result {
	w := New(parts)
	for n, line := range lines {
		err := w.Do(line)
		switch {
		case err != nil:
			w.ledger.violation = fmt.Sprintf("the script is wrong: line %d: %q: %v", n+1, line, err)
		case w.ledger.violation == "":
			continue
		}
		return w.result()
	}
	return w.result()
}

func (w *World) result() Result {
	return Result{Violation: w.ledger.violation, Checks: w.ledger.checks, Reached: w.ledger.reached, Policy: w.policy.Name()}
}

// Shrink takes lines out of a script as long as what is left still breaks the same invariant. The first line, which makes
// the clusters, stays.
func Shrink(parts Parts, lines []string) []string {
	law := lawOf(Broken(parts, lines))
	for size := len(lines) / 2; size > 0; size /= 2 {
		for at := 1; at+size <= len(lines); {
			shorter := append(append([]string{}, lines[:at]...), lines[at+size:]...)
			if lawOf(Broken(parts, shorter)) == law {
				lines = shorter
			} else {
				at += size
			}
		}
	}
	return lines
}

// lawOf is the invariant's name in a violation.
func lawOf(violation string) string {
	for _, law := range slices.Concat(Laws(), RankLaws()) {
		if strings.HasPrefix(violation, law+":") {
			return law
		}
	}
	return violation
}

// Tell runs a script and returns the story: every command and what happened.
func Tell(parts Parts, script string) (string, error) {
	w := New(parts)
	w.out = &strings.Builder{}
	for n, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		fmt.Fprintln(w.out, strings.TrimRight("> "+line, " "))
		if err := w.Do(line); err != nil {
			return w.out.String(), fmt.Errorf("line %d: %q: %w", n+1, line, err)
		}
	}
	return w.out.String(), nil
}
