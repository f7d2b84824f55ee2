package lifecycle

import (
	"slices"
	"strings"
	"time"
)

// syncChecks makes the entries those of the given names: present entries stay as they are, new ones begin Pending, and
// entries of checks that do not apply any more go (contract: kueue-api.md 4.13).
func (s State) syncChecks(names []string, now time.Time) State {
	var checks []Check
	for _, c := range s.Checks {
		if slices.Contains(names, c.Name) {
			checks = append(checks, c)
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			checks = append(checks, Check{Name: name, State: CheckPending, Since: now})
		}
	}
	s.Checks = checks
	return s
}

// retryAt is the earliest time that all checks in Retry allow the workload to queue again (contract: kueue-api.md 4.13).
func (s State) retryAt() time.Time {
	var at time.Time
	for _, c := range s.Checks {
		if t := c.Since.Add(c.RequeueAfter); c.State == CheckRetry && t.After(at) {
			at = t
		}
	}
	return at
}

// saying lists the checks in one state with their messages, for people.
func (s State) saying(state CheckState) string {
	var said []string
	for _, c := range s.Checks {
		if c.State != state {
			continue
		}
		text := c.Name
		if c.Message != "" {
			text += "(" + c.Message + ")"
		}
		said = append(said, text)
	}
	slices.Sort(said)
	return strings.Join(said, ", ")
}
