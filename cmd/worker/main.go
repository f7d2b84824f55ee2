// Command worker is the admission engine of one cluster: it queues jobs against quota and starts those that are admitted.
// Whether they were submitted here or come from a hub makes no difference to it.
package main

import (
	"os"

	"switchyard.dev/admissioncheck"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker"
	"switchyard.dev/worker/manager"
)

func main() {
	os.Exit(manager.Program{Name: "worker", Scheme: worker.Scheme, API: kueue.GroupVersion, Parts: admissioncheck.Parts}.Main())
}
