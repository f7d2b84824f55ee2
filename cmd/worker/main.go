// Command worker is the admission engine of one cluster: it queues jobs against quota and starts those that are admitted.
// Whether they were submitted here or come from a hub makes no difference to it.
package main

import (
	"os"

	"switchyard.dev/admissioncheck"
	"switchyard.dev/worker"
)

func main() {
	os.Exit(worker.Program("worker", admissioncheck.Compose).Main())
}
