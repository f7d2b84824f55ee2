package job

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestWorkloadNamesFitAndTellOwnersApart(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	long := strings.Repeat("x", 253)
	for name, c := range map[string]struct {
		owner, uid string
		short      bool
		want       string
	}{
		"an ordinary name":       {"train", "job-uid", false, "job-train-1b29a"},
		"a long name is cut":     {long, "job-uid", false, "job-" + strings.Repeat("x", 243) + "-"},
		"a short name is cut":    {long, "job-uid", true, "job-" + strings.Repeat("x", 53) + "-"},
		"it is not cut at a dot": {"a." + strings.Repeat("x", 50) + ".y", "job-uid", true, "job-a." + strings.Repeat("x", 50) + "-"},
		"nor where it is long":   {strings.Repeat("x", 242) + ".y.y.y", "job-uid", false, "job-" + strings.Repeat("x", 242) + "-"},
		"the UID is in it too":   {"train", "another-uid", false, "job-train-"},
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
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
			t.Errorf("%s: %s is no name: %v", name, got, problems)
		}
	}
}

func TestTheNameOfAPrebuiltWorkloadIsReadWhereTheGateSays(t *testing.T) {
	long := strings.Repeat("n", 64)
	for name, c := range map[string]struct {
		label, annotation string
		on, off           string
	}{
		"nowhere":                           {"", "", "", ""},
		"label":                             {"l", "", "l", "l"},
		"annotation":                        {"", "a", "a", ""},
		"both":                              {"l", "a", "a", "l"},
		"a name that no label holds":        {"", long, long, long},
		"such a name beside a label":        {"l", long, long, "l"},
		"the longest name that a label may": {"", long[1:], long[1:], ""},
	} {
		j := &batchv1.Job{}
		j.SetLabels(map[string]string{kueue.PrebuiltWorkloadNameKey: c.label})
		j.SetAnnotations(map[string]string{kueue.PrebuiltWorkloadNameKey: c.annotation})
		on, off := DefaultGates(), DefaultGates()
		off.WorkloadIdentifierAnnotations = false
		if got := on.PrebuiltWorkloadName(j); got != c.on {
			t.Errorf("%s: %q with the gate on, want %q", name, got, c.on)
		}
		if got := off.PrebuiltWorkloadName(j); got != c.off {
			t.Errorf("%s: %q with the gate off, want %q", name, got, c.off)
		}
	}
}
