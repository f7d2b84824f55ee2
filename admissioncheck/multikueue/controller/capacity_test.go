package controller

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

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
	got := st.reconciler.capacities.Lookup("w1", time.Now())
	if got == nil || len(got.Queues) != 1 || len(got.Locals) != 1 || !got.FlavorsUnknown {
		t.Fatalf("%+v", got)
	}
}

func TestQueuesThatMayNotBeReadAreNotTakenForAbsent(t *testing.T) {
	for _, hidden := range []string{"*v1beta2.ClusterQueueList", "*v1beta2.LocalQueueList"} {
		t.Run(hidden, func(t *testing.T) {
			st := newUnreportedEnv(t, hidden)
			if got := st.reconciler.capacities.Lookup("w1", time.Now()); got != nil {
				t.Errorf("%+v", got)
			}
			st.submit()
			st.waitOffered("w1")
		})
	}
}
