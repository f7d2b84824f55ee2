// Command hub queues jobs against quota and hands those that have it to worker clusters. It is a worker with one more
// admission check, and serves ordinary queues too.
package main

import (
	"os"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/hub"
	"switchyard.dev/worker/manager"
)

func main() {
	os.Exit(manager.Program{Name: "hub", Scheme: hub.Scheme, API: kueue.GroupVersion, Parts: hub.Parts}.Main())
}
