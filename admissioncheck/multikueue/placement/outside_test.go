package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// seen is a ClusterQueue with GPUs of the flavor a, of which some are reserved.
func seen(name, cohort string, nominal, borrowing, reserved amount.Amount) ObservedQueue {
	cell := quota.FlavorResource{Flavor: "a", Resource: gpu}
	return ObservedQueue{
		Name: name, Cohort: cohort, Reserved: quota.NewUsage(quota.Use{FlavorResource: cell, Amount: reserved}),
		Groups: []admission.ResourceGroup{{Resources: []string{gpu}, Flavors: []admission.FlavorQuota{{
			Flavor: "a", Resources: []admission.ResourceQuota{{Resource: gpu, Limits: quota.Limits{
				Nominal: nominal, Borrowing: borrowing, Lending: amount.Unlimited,
			}}},
		}}}},
	}
}

func TestWhatAClusterHasRoomForAsSeenFromOutside(t *testing.T) {
	perhaps := func(r FlavorQuota, v amount.Amount) FlavorQuota {
		r.Potential = []amount.Amount{v}
		return r
	}
	tests := map[string]struct {
		queues []ObservedQueue
		want   FlavorQuota
	}{
		"on its own, quota less reservations": {
			[]ObservedQueue{seen("q", "", 8, amount.Unlimited, 3)}, perhaps(room("a", 5, 5, 8), 5),
		},
		"overdrawn, nothing": {[]ObservedQueue{seen("q", "", 2, amount.Unlimited, 3)}, perhaps(room("a", 0, 0, 2), 0)},
		"in a cohort, what the others do not use, and perhaps more": {
			[]ObservedQueue{seen("q", "c", 4, amount.Unlimited, 1), seen("r", "c", 4, amount.Unlimited, 2)},
			perhaps(room("a", 3, 5, amount.Unlimited), amount.Unlimited),
		},
		"no more than its borrowing limit": {
			[]ObservedQueue{seen("q", "c", 4, 1, 1), seen("r", "c", 4, amount.Unlimited, 0)}, perhaps(room("a", 3, 4, 5), 4),
		},
		"own quota that others have borrowed is not free": {
			[]ObservedQueue{seen("q", "c", 4, 0, 0), seen("r", "c", 4, amount.Unlimited, 7)}, perhaps(room("a", 1, 1, 4), 4),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := QueuesFromObserved(test.queues)[0]
			want := Queue{Name: "q", Groups: []Group{{Resources: []string{gpu}, Flavors: []FlavorQuota{test.want}}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatMayBeFreeRanksAfterWhatIsAndBeforePreemption(t *testing.T) {
	outside := cluster("outside", room("a", 2, 2, 8)).but(func(_ *Cluster, q *Queue) {
		q.Groups[0].Flavors[0].Potential = []amount.Amount{8}
	})
	fleet := []Cluster{
		cluster("preempts", room("a", 0, 0, 8).evicting(0, 8)), outside, cluster("borrows", room("a", 0, 8, 8)),
	}
	got := Rank(request(pods(4, 1)), fleet)
	if diff := cmp.Diff("borrows Borrows, outside CapacityUnknown, preempts Preempts", show(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := "4 nvidia.com/gpu of flavor a may have to borrow more than is known to be free in ClusterQueue cq: 2 free"
	if got[1].Message != want {
		t.Errorf("message %q, want %q", got[1].Message, want)
	}
}
