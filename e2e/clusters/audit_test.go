package clusters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALineStillBeingWrittenIsNotCounted(t *testing.T) {
	const whole = `{"verb":"patch","user":{"username":"u"},"userAgent":"hub/v1 (linux)","objectRef":{"resource":"workloads","subresource":"status","apiGroup":"kueue.x-k8s.io"},"responseStatus":{"code":409}}`
	got, err := countWrites(strings.NewReader(whole + "\n" + whole + "\n" + whole[:40]))
	if err != nil {
		t.Fatal(err)
	}
	want := []WriteCount{{Count: 2, Write: Write{
		User: "u", Agent: "hub", Verb: "patch", Resource: "workloads/status.kueue.x-k8s.io", Failed: true,
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
