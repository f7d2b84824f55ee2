package program

import "runtime"

// headroom is how much more garbage than the runtime would by itself the collector lets lie, in bytes.
const headroom = 64 << 20

// takeHeadroom makes the collector run less often while the heap is small: the memory that it returns is never touched, so
// that it costs none, but the collector, which runs when the heap has doubled, counts it. The caller keeps it alive. An
// administrator who set GOGC or GOMEMLIMIT knows better, and gets none.
func takeHeadroom(environment func(string) (string, bool)) []byte {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := environment(name); set {
			return nil
		}
	}
	return make([]byte, headroom)
}

// keep has the memory stay until it is called.
func keep(memory []byte) { runtime.KeepAlive(memory) }
