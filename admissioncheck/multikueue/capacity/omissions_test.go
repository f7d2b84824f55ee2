package capacity

import (
	"testing"

	"switchyard.dev/admissioncheck/multikueue/placement"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

func TestWhatAReportLeavesOutIsNotTakenForNothing(t *testing.T) {
	const preempting, waiting = switchyard.OmittedPreempting, switchyard.OmittedWaiting
	for _, c := range []struct {
		name    string
		omitted []string
		strict  bool
		asks    amount.Amount
		want    placement.Reason
	}{
		{"in a whole report nobody waits in a queue", nil, true, 4, placement.Fits},
		{"without those who wait, somebody may", []string{preempting, waiting}, true, 4, placement.Unknown},
		{"also if what can be evicted is known", []string{waiting}, true, 4, placement.Unknown},
		{"then what has no room has none", []string{waiting}, true, 6, placement.Waits},
		{"where they are passed they do not matter", []string{preempting, waiting}, false, 4, placement.Fits},
		{"in a whole report nobody can be evicted", nil, false, 6, placement.Waits},
		{"without those who can be, somebody may", []string{preempting}, false, 6, placement.Unknown},
		{"as in a queue where somebody may wait", []string{preempting, waiting}, true, 6, placement.Unknown},
		{"what has room evicts nobody", []string{preempting}, true, 4, placement.Fits},
		{"more than there is does not fit in any case", []string{preempting, waiting}, true, 9, placement.TooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			capacity := fromReport(&switchyard.CapacityReport{
				Omitted: c.omitted, IgnoresUncovered: true, Flavors: []switchyard.CapacityFlavor{{Name: "red"}},
				ClusterQueues: []switchyard.CapacityQueue{{
					Name: "cq", Strict: c.strict, LocalQueues: []switchyard.CapacityLocalQueue{{Name: "team/main"}},
					Groups: []switchyard.CapacityGroup{{Resources: []string{"gpu"}, Flavors: []switchyard.CapacityFigures{{
						Flavor: "red", Own: []int64{5}, Free: []int64{5}, Largest: []int64{8},
					}}}},
				}},
			})
			asks := admission.PodSet{Name: "main", Count: 1, Requests: amount.NewVector(amount.Request{Resource: "gpu", Amount: c.asks})}
			got := placement.Rank(placement.Request{Namespace: "team", LocalQueue: "main", PodSets: []admission.PodSet{asks}},
				[]placement.Cluster{{Name: "w1", Capacity: capacity}})
			if got[0].Reason != c.want {
				t.Errorf("%s: %s", got[0].Reason, got[0].Message)
			}
		})
	}
}
