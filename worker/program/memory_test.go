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

func TestTheHeapIsKeptWithinTheContainersLimit(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "none": 0, "-1": 0, "1024": 0, "9223372036854775807": 0, "99999999999999999999": 0, "2684354560": 2684354560/100*limitShare + headroom,
	} {
		got, ok := heapLimit(func(name string) (string, bool) { return text, name == memoryLimit && text != "" })
		if got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}

func TestTheCollectorIsToldOfTheContainersLimit(t *testing.T) {
	percentBefore, before := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percentBefore); debug.SetMemoryLimit(before) }()
	for set, want := range map[string]int64{memoryLimit: 1<<30/100*limitShare + headroom, "GOGC": before, "GOMEMLIMIT": before} {
		debug.SetMemoryLimit(before)
		keep(tuneCollector(func(name string) (string, bool) { return "1073741824", name == set || name == memoryLimit }))
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("with %s set: %d, want %d", set, got, want)
		}
	}
}
