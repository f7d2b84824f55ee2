package program

import (
	"runtime"
	"runtime/debug"
)

const (
	// headroom is how much garbage, in bytes and times the percentage, the collector lets lie besides what the percentage allows.
	headroom = 112 << 20
	// percent is how much garbage the collector lets lie, of what is in use.
	percent = 70
)

// tuneCollector makes the collector run less often while the heap is small, where that costs little memory, and more often than
// by default when it is large. What it returns is never touched, so that it costs none, but the collector counts it as in use.
// The caller keeps it alive. An administrator who set GOGC or GOMEMLIMIT knows better: then nothing is changed.
func tuneCollector(environment func(string) (string, bool)) []byte {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := environment(name); set {
			return nil
		}
	}
	debug.SetGCPercent(percent)
	return make([]byte, headroom)
}

// keep has the memory stay until it is called.
func keep(memory []byte) { runtime.KeepAlive(memory) }
