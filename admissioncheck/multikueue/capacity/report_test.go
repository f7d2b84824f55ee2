package capacity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/admissioncheck/multikueue/placement"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestWhatAReportSaysIsTakenAsItIs(t *testing.T) {
	since := metav1.NewTime(noon)
	got := fromReport(&switchyard.CapacityReport{
		ObservedAt: metav1.NewMicroTime(noon), Kinds: []string{"b", "a"}, IgnoresUncovered: true,
		Flavors: []switchyard.CapacityFlavor{{Name: "red"}},
		ClusterQueues: []switchyard.CapacityQueue{{
			Name: "cq", Closed: "it is on hold", Strict: true,
			LocalQueues: []switchyard.CapacityLocalQueue{{Name: "team/gpu", Closed: "it is stopped"}},
			Groups: []switchyard.CapacityGroup{{Resources: []string{"cpu"}, Flavors: []switchyard.CapacityFigures{{
				Flavor: "red", Own: []int64{1}, Free: []int64{2}, Largest: []int64{4},
				Preempting: []switchyard.CapacityStep{{Priority: 7, Free: []int64{3}}},
			}}}},
			Waiting: []switchyard.CapacityWaiting{{Priority: 5, Count: 6, Since: since}},
		}},
	})
	amounts := func(n amount.Amount) []amount.Amount { return []amount.Amount{n} }
	want := &placement.Capacity{
		At: noon, Kinds: []string{"a", "b"}, IgnoresUncovered: true, Flavors: []admission.Flavor{{Name: "red"}},
		Locals: []placement.LocalQueue{{Key: admission.Key{Namespace: "team", Name: "gpu"}, Queue: "cq", Closed: "it is stopped"}},
		Queues: []placement.Queue{{
			Name: "cq", Closed: "it is on hold", Strict: true,
			Groups: []placement.Group{{Resources: []string{"cpu"}, Flavors: []placement.FlavorQuota{{
				Flavor: "red", Nominal: amounts(1), Free: amounts(2), Largest: amounts(4),
				Preempting: []placement.Step{{Priority: 7, Free: amounts(3)}},
			}}}},
			Waiting: []placement.PendingClass{{Priority: 5, Count: 6, Since: noon}},
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOfAReportWithoutItsQueuesNothingIsKnown(t *testing.T) {
	for omitted, known := range map[string]bool{"preempting": true, "waiting": true, "clusterQueues": false} {
		if got := fromReport(&switchyard.CapacityReport{Omitted: []string{omitted}}); (got != nil) != known {
			t.Errorf("without %s: %+v", omitted, got)
		}
	}
}
