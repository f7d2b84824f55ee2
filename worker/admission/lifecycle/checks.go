package lifecycle

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// syncChecks makes the entries those of the given names: present entries stay as they are, new ones begin Pending, and
// entries of checks that do not apply any more go (contract: kueue-api.md 4.13, messages.md 5.2). They are sorted by name.
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
	slices.SortStableFunc(checks, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	s.Checks = checks
	return s
}

// SyncExpectedChecks gives a workload that waits the entries of the checks that it will need whatever flavors it gets.
func SyncExpectedChecks(s State, names []string, now time.Time) State {
	if s.Reservation != nil || s.IsTrue(Finished) {
		return s
	}
	return s.syncChecks(names, now)
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

// checksText lists the checks in one state by name, with their messages, for people.
func (s State) checksText(state CheckState) string {
	var said []string
	for _, c := range slices.SortedFunc(slices.Values(s.Checks), func(a, b Check) int { return strings.Compare(a.Name, b.Name) }) {
		if c.State != state {
			continue
		}
		text := strconv.Quote(c.Name)
		if c.Message != "" {
			text += " (" + c.Message + ")"
		}
		said = append(said, text)
	}
	kind := "AdmissionCheck"
	if len(said) > 1 {
		kind = "AdmissionChecks"
	}
	return kind + " in " + string(state) + " state: " + strings.Join(said, "; ")
}
