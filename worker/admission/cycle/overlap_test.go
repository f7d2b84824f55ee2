package cycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/cycle"
)

func TestOverlappingVictimsAreReported(t *testing.T) {
	const borrowed = `flavor f
		queue a cohort=x reclaim=Any f gpu=4
		queue b cohort=x reclaim=Any f gpu=4
		queue c cohort=x f gpu=0
		pending first queue=a prio=9 gpu=4
		pending second queue=b prio=5 gpu=4
		`
	for name, tc := range map[string]struct {
		held string
		want []admission.Overlap
	}{
		"both want the one that is cheapest to lose, and there is another": {
			"admitted v1 queue=c prio=1 f/gpu=4\nadmitted v2 queue=c prio=2 f/gpu=4",
			[]admission.Overlap{{Workload: admissiontest.Key("second"), Queue: "b", Recomputed: true, Found: true}},
		},
		"what the first evicts is enough for both": {
			"admitted v1 queue=c prio=1 f/gpu=8",
			[]admission.Overlap{{Workload: admissiontest.Key("second"), Queue: "b", Recomputed: true, Found: true}},
		},
		"there is room for the second": {"admitted v1 queue=c prio=1 f/gpu=4", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := admissiontest.BuildSnapshot(borrowed + tc.held)
			if err != nil {
				t.Fatal(err)
			}
			plan := cycle.Run(s, admissiontest.TimeAt(100), cycle.Options{})
			if diff := cmp.Diff(tc.want, plan.Overlaps); diff != "" {
				t.Errorf("%s\n%s", diff, admissiontest.PlanText(plan))
			}
		})
	}
}
