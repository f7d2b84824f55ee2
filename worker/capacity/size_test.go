package capacity

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// newReportOfSize is a report of so many queues with pending workloads, with a name of so many bytes and so many steps of
// preemption.
func newReportOfSize(queues, name, steps int) *switchyard.CapacityReport {
	r := &switchyard.CapacityReport{Kinds: []string{"Job.v1.batch"}}
	for i := range queues {
		figures := switchyard.CapacityFigures{Flavor: "red", Own: []int64{1}, Free: []int64{1}, Largest: []int64{1}}
		figures.Preempting = make([]switchyard.CapacityStep, steps)
		r.ClusterQueues = append(r.ClusterQueues, switchyard.CapacityQueue{
			Name:    fmt.Sprintf("%0*d", name, i),
			Groups:  []switchyard.CapacityGroup{{Resources: []string{"cpu"}, Flavors: []switchyard.CapacityFigures{figures}}},
			Waiting: make([]switchyard.CapacityWaiting, 5),
		})
	}
	return r
}

func TestAReportThatIsTooLargeLeavesOutWhatMattersLeast(t *testing.T) {
	for name, tc := range map[string]struct {
		report *switchyard.CapacityReport
		want   []string
	}{
		"a small one is whole":          {newReportOfSize(10, 10, 8), nil},
		"first the evictions":           {newReportOfSize(2000, 10, 16), []string{"preempting"}},
		"then who waits":                {newReportOfSize(4000, 10, 2), []string{"preempting", "waiting"}},
		"then there is nothing to tell": {newReportOfSize(4000, 250, 2), []string{"preempting", "waiting", "clusterQueues"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.report.DeepCopy()
			data, omitted, err := encodeReport(tc.report)
			if err != nil || len(data) > maxReportBytes {
				t.Fatalf("%d bytes, %v", len(data), err)
			}
			if diff := cmp.Diff(tc.want, omitted); diff != "" {
				t.Errorf("omitted: -want +got:\n%s", diff)
			}
			sent := &switchyard.CapacityReport{}
			if err := json.Unmarshal(data, sent); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, sent.Omitted); diff != "" {
				t.Errorf("the report says: -want +got:\n%s", diff)
			}
			text := string(data)
			for part, there := range map[string]bool{
				`"preempting":`: len(omitted) < 1, `"waiting":`: len(omitted) < 2, `"own":`: len(omitted) < 3, `"Job.v1.batch"`: true,
			} {
				if strings.Contains(text, part) != there {
					t.Errorf("%s there: %v", part, !there)
				}
			}
			if diff := cmp.Diff(before, tc.report); diff != "" {
				t.Error("the report itself was changed")
			}
		})
	}
}
