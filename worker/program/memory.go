package program

import (
	"runtime"
	"runtime/debug"
	"strconv"
)

const (
	// headroom is how much garbage, in bytes and times the percentage, the collector lets lie besides what the percentage allows.
	headroom = 112 << 20
	// percent is how much garbage the collector lets lie, of what is in use.
	percent = 70
	// memoryLimit is the environment variable with the container's memory limit in bytes: the manifests set it from the limit
	// itself, so that the two stay in step. The heap is to stay within limitShare per cent of it; the rest is for stacks, for what
	// the kernel holds for us, and for what is allocated before the collector has caught up.
	memoryLimit = "SWITCHYARD_MEMORY_LIMIT"
	limitShare  = 85
)

// tuneCollector makes the collector run less often while the heap is small, where that costs little memory, and more often than
// by default when it is large, and most often when the container's memory would run out otherwise. What it returns is never touched, so that it costs none, but the collector counts it as in use.
// The caller keeps it alive. An administrator who set GOGC or GOMEMLIMIT knows better: then nothing is changed.
func tuneCollector(environment func(string) (string, bool)) []byte {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := environment(name); set {
			return nil
		}
	}
	debug.SetGCPercent(percent)
	if limit, ok := heapLimit(environment); ok {
		debug.SetMemoryLimit(limit)
	}
	return make([]byte, headroom)
}

// heapLimit is what the collector is to keep to, in bytes; false if the container has no limit. The headroom takes no memory, but the
// collector counts it.
func heapLimit(environment func(string) (string, bool)) (int64, bool) {
	const least, most = 64 << 20, 1 << 50
	text, _ := environment(memoryLimit)
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit < least || limit > most {
		return 0, false
	}
	return limit/100*limitShare + headroom, true
}

// keep has the memory stay until it is called.
func keep(memory []byte) { runtime.KeepAlive(memory) }
