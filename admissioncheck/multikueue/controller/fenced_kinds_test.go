package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
)

func TestAFenceStopsJobsOfEveryKindThatIsCompiledIn(t *testing.T) {
	for _, kind := range all.Kinds() {
		if !supportsFencing(kind) {
			t.Errorf("no fence is relied on for %s", kind.Name())
		}
	}
	if supportsFencing(job.External(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"})) {
		t.Error("a fence is relied on for a kind whose controllers are not known")
	}
	if supportsFencing(declaredKind(true)) {
		t.Error("a fence is relied on for a kind that a JobKind declares")
	}
}
