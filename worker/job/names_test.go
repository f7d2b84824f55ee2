package job

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWorkloadNamesFitAndTellOwnersApart(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	long := strings.Repeat("x", 253)
	for name, c := range map[string]struct {
		owner, uid string
		short      bool
		want       string
	}{
		"an ordinary name":     {"train", "job-uid", false, "job-train-1b29a"},
		"a long name is cut":   {long, "job-uid", false, "job-" + strings.Repeat("x", 243) + "-"},
		"a short name is cut":  {long, "job-uid", true, "job-" + strings.Repeat("x", 53) + "-"},
		"the UID is in it too": {"train", "another-uid", false, "job-train-"},
	} {
		got := WorkloadName(kind, c.owner, "job-uid", c.short)
		if c.uid != "job-uid" {
			if other := WorkloadName(kind, c.owner, "another-uid", c.short); other == got {
				t.Errorf("%s: %s twice", name, got)
			}
		}
		limit := 253
		if c.short {
			limit = 63
		}
		if !strings.HasPrefix(got, c.want) || len(got) > limit {
			t.Errorf("%s: %s (%d characters), want %s", name, got, len(got), c.want)
		}
	}
}
