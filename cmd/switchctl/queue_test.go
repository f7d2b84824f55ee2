package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// file writes a file for the command line.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func twoWorkers(t *testing.T) (x *terminal, w1, w2 *kubeclient.Client) {
	t.Helper()
	x = newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"),
		workerCluster("w2", metav1.ConditionTrue, "Active", "Connected"))
	return x, x.withWorker("w1"), x.withWorker("w2")
}

func TestOneFileSetsUpQueuesOnHubAndWorkersAndShowsTheDifferenceFirst(t *testing.T) {
	x, w1, w2 := twoWorkers(t)
	const setup = "queue setup -f testdata/teams.yaml"
	x.fails(setup, exit.Usage, "nothing was changed")
	if !absent(x, w1, "", "vision", &corev1.Namespace{}) {
		t.Fatal("it did not wait for an answer")
	}
	golden(t, "queue-setup.txt", x.ok(setup+" --yes"))
	get(x, w2, "", "vision", &corev1.Namespace{})
	if got := get(x, w2, "vision", "train", &kueue.LocalQueue{}).Spec.ClusterQueue; got != "gpus" {
		t.Errorf("w2's LocalQueue leads to %q", got)
	}
	if got := get(x, x.hub, "vision", "train", &kueue.LocalQueue{}); got.Spec.ClusterQueue != "vision" || len(got.Annotations) > 0 {
		t.Errorf("the hub's LocalQueue leads to %q, annotations %v", got.Spec.ClusterQueue, got.Annotations)
	}
	if !absent(x, w2, "", "h100", &kueue.ResourceFlavor{}) {
		t.Error("w2 has a flavor that is w1's")
	}
	if out := x.ok(setup); !strings.Contains(out, "nothing to change") {
		t.Error(out)
	}
}

func TestOnlyWhatTheFileSaysIsCompared(t *testing.T) {
	x, w1, _ := twoWorkers(t)
	x.ok("queue setup -f testdata/teams.yaml --yes")
	queue := get(x, w1, "", "gpus", &kueue.ClusterQueue{})
	queue.Spec.StopPolicy = kueue.Hold
	queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota.Set(4)
	if err := w1.Update(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	golden(t, "queue-setup-changed.txt", x.ok("queue setup -f testdata/teams.yaml -y"))
	queue = get(x, w1, "", "gpus", &kueue.ClusterQueue{})
	if queue.Spec.StopPolicy != kueue.Hold || queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota.String() != "16" {
		t.Errorf("%+v", queue.Spec)
	}
}

func TestAMistakeInAFileIsTheUsersAndChangesNothing(t *testing.T) {
	x, _, _ := twoWorkers(t)
	for text, says := range map[string]string{
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: a}, spec: {cohort: c}}":                                                          "unknown field",
		"{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: a}}":                                                                             "is not set up by this command",
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a}}":                                                                                                    "is not set up by this command",
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: a}, spec: {clusterQueue: a}}":                                                      "needs metadata.namespace",
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a, annotations: {switchyard.dev/on: w9}}}":                                     "which is no worker of the hub (w1, w2)",
		"{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}, bogus: true}": "unknown field",
	} {
		x.fails("queue setup --yes -f "+file(t, text), exit.Usage, says)
	}
	x.fails("queue setup", exit.Usage, "required flag")
	x.fails("queue setup --yes -f testdata/teams.yaml --worker w1", exit.Usage, "want NAME=CONTEXT")
	x.fails("queue setup --yes -f testdata/teams.yaml --worker w9=w1", exit.Usage, "the hub has no worker")
	x.fails("queue setup -f no-such-file", exit.Usage, "no-such-file")
	if !absent(x, x.hub, "", "a", &corev1.Namespace{}) {
		t.Error("something was created")
	}
	delete(x.workers, "w2")
	x.fails("queue setup --yes -f testdata/teams.yaml", exit.Usage, "--worker w2=CONTEXT")
}
