package program

import (
	"runtime/debug"
	"testing"
)

func TestAnAdministratorDecidesAboutTheCollector(t *testing.T) {
	const before = 50
	for _, c := range []struct {
		set           string
		size, percent int
	}{{"", headroom, percent}, {"GOGC", 0, before}, {"GOMEMLIMIT", 0, before}, {"HOME", headroom, percent}} {
		undo := debug.SetGCPercent(before)
		got := tuneCollector(func(name string) (string, bool) { return "50", name == c.set })
		if is := debug.SetGCPercent(undo); len(got) != c.size || is != c.percent {
			t.Errorf("with %q set: %d bytes and %d percent, want %d and %d", c.set, len(got), is, c.size, c.percent)
		}
	}
}
