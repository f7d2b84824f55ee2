package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

func TestWhatAReportSaysIsTakenAsItIs(t *testing.T) {
	since := metav1.NewTime(noon)
	got := capacityFromReport(&switchyard.CapacityReport{
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
		if got := capacityFromReport(&switchyard.CapacityReport{Omitted: []string{omitted}}); (got != nil) != known {
			t.Errorf("without %s: %+v", omitted, got)
		}
	}
}

// newUnreportedEnv is a stage with a worker that publishes nothing and has a LocalQueue and its ClusterQueue, the kinds of which the
// hub may not list if they are hidden.
func newUnreportedEnv(t *testing.T, hidden string) *testEnv {
	t.Helper()
	st := newTestEnv(t, "w1")
	queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
	queue.Spec.ResourceGroups = []kueue.ResourceGroup{resourceGroup("gpu", "10")}
	local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu"}}
	local.Spec.ClusterQueue = "cq"
	for _, obj := range []client.Object{queue, local} {
		if err := st.workers["w1"].WithWatch.Create(context.Background(), obj); err != nil {
			t.Fatal(err)
		}
	}
	st.workers["w1"].hideList(hidden)
	policy := dispatch.Compatible(time.Minute)
	policy.Dispatcher = dispatch.BestFit
	st.restart(policy)
	st.waitConnected()
	return st
}

func TestAClusterThatPublishesNothingIsJudgedByItsQueues(t *testing.T) {
	st := newUnreportedEnv(t, "")
	got := st.reconciler.clusterCapacity("w1", time.Now())
	if got == nil || len(got.Queues) != 1 || len(got.Locals) != 1 || !got.FlavorsUnknown {
		t.Fatalf("%+v", got)
	}
}

func TestQueuesThatMayNotBeReadAreNotTakenForAbsent(t *testing.T) {
	for _, hidden := range []string{"*v1beta2.ClusterQueueList", "*v1beta2.LocalQueueList"} {
		t.Run(hidden, func(t *testing.T) {
			st := newUnreportedEnv(t, hidden)
			if got := st.reconciler.clusterCapacity("w1", time.Now()); got != nil {
				t.Errorf("%+v", got)
			}
			st.submit()
			st.waitOffered("w1")
		})
	}
}
