package manager

import (
	"runtime/debug"
	"strconv"
)

// The heap is to stay within limitPercent of the container's memory, which the manifests put into the variable memoryLimit, in
// bytes. The rest is for stacks, for what the kernel holds for the program, and for what is allocated before the garbage collector
// has caught up.
const (
	memoryLimit  = "SWITCHYARD_MEMORY_LIMIT"
	limitPercent = 85
)

// setMemoryLimit makes the garbage collector keep the heap within the container's memory. It does nothing if an administrator has set
// GOMEMLIMIT.
func setMemoryLimit(environment func(string) (string, bool)) {
	if _, set := environment("GOMEMLIMIT"); set {
		return
	}
	if limit, ok := heapLimit(environment); ok {
		debug.SetMemoryLimit(limit)
	}
}

// heapLimit is what the collector is to keep to, in bytes; false if the container has no limit.
func heapLimit(environment func(string) (string, bool)) (int64, bool) {
	const least, most = 64 << 20, 1 << 50
	text, _ := environment(memoryLimit)
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit < least || limit > most {
		return 0, false
	}
	return limit / 100 * limitPercent, true
}
