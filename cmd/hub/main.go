// Command hub queues jobs against quota and hands those that have it to worker clusters. It is a worker with one more
// admission check, and serves ordinary queues too.
package main

import (
	"os"

	"switchyard.dev/hub"
	"switchyard.dev/worker"
)

func main() {
	os.Exit(worker.Program("hub", hub.Compose).Main())
}
