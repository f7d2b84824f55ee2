package manager

import (
	"runtime/debug"
	"testing"
)

func TestHeapLimit(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "none": 0, "-1": 0, "1024": 0, "9223372036854775807": 0, "99999999999999999999": 0, "2684354560": 2684354560 / 100 * limitPercent,
	} {
		got, ok := heapLimit(func(name string) (string, bool) { return text, name == memoryLimit && text != "" })
		if got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}

func TestSetMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for set, want := range map[string]int64{memoryLimit: 1 << 30 / 100 * limitPercent, "GOMEMLIMIT": before} {
		debug.SetMemoryLimit(before)
		setMemoryLimit(func(name string) (string, bool) { return "1073741824", name == set || name == memoryLimit })
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("with %s set: %d, want %d", set, got, want)
		}
	}
}
