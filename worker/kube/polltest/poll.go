// Package polltest has tests wait for what other goroutines bring about, however busy the machine is.
package polltest

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	interval = time.Millisecond
	// patience is far more than anything takes that a test waits for: what has not come by then never will.
	patience = 5 * time.Minute
)

// Holds polls for a condition and reports whether it came to hold.
func Holds(tb testing.TB, condition func() bool) bool {
	tb.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), interval, limit(tb, time.Now()), true,
		func(context.Context) (bool, error) { return condition(), nil })
	return err == nil
}

// limit is how long to wait: not so long that the test, and those after it, are ended before they can say what they waited for.
func limit(tb testing.TB, now time.Time) time.Duration {
	tb.Helper()
	if bounded, ok := tb.(interface{ Deadline() (time.Time, bool) }); ok { // benchmarks have none
		if deadline, set := bounded.Deadline(); set {
			return min(patience, deadline.Sub(now)/2)
		}
	}
	return patience
}
