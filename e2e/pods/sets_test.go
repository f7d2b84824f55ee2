package pods

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// expectAway waits until so many pods run on the first worker and none on the second, while those of the hub wait.
func expectAway(t *testing.T, pods int, hub team, workers []team) {
	t.Helper()
	away, waits := "", ""
	if pods > 0 {
		away, waits = fmt.Sprintf("%d Running", pods), fmt.Sprintf("%d waits", pods)
	}
	hub.expectStates(waits)
	workers[0].expectStates(away)
	workers[1].expectStates("")
}

// expectNoSet waits until there is no StatefulSet of the name.
func (t team) expectNoSet(name string) {
	t.Helper()
	t.eventually("the set to go", func() error {
		err := t.Get(t.T.Context(), client.ObjectKey{Namespace: t.name, Name: name}, &appsv1.StatefulSet{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

func (t team) setReplicas(name string, n int32) {
	t.Helper()
	set := &appsv1.StatefulSet{}
	if err := t.Get(t.T.Context(), client.ObjectKey{Namespace: t.name, Name: name}, set); err != nil {
		t.Fatal(err)
	}
	t.patch(set, func() { set.Spec.Replicas = ptr.To(n) })
}

func setAway(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "set", 3, 2)
	set := hub.statefulSet("web", 3)
	hub.create(set)
	expectAway(t, 3, hub, workers)
	workers[0].expectUsage("0 wait, 1 run, 3 CPUs")
	hub.expectCondition("statefulset-web", kueue.WorkloadPodsReady, "True Started")
	if n := len(workers[0].workloads()); n != 1 {
		t.Errorf("the worker has %d workloads", n)
	}
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatal(err)
	}
	hub.patch(set, func() { set.Spec.Template.Spec.Containers[0].Image = "example.local/train:2" })
	hub.eventually("the rollout to begin", func() error {
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		if set.Status.UpdateRevision == set.Status.CurrentRevision {
			return fmt.Errorf("the revision is %s", set.Status.UpdateRevision)
		}
		return nil
	})
	expectAway(t, 3, hub, workers)
	if err := hub.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	expectAway(t, 0, hub, workers)
	workers[0].expectNoSet("web")
	hub.expectUsage("0 wait, 0 run, 0 CPUs")
	workers[0].expectUsage("0 wait, 0 run, 0 CPUs")
}

func setScaled(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "scaled", 3, 0)
	hub.create(hub.statefulSet("web", 3))
	expectAway(t, 3, hub, workers)
	hub.setReplicas("web", 0)
	expectAway(t, 0, hub, workers)
	workers[0].expectNoSet("web")
	hub.expectCondition("statefulset-web", kueue.WorkloadQuotaReserved, "False OnHold")
	hub.setReplicas("web", 2)
	expectAway(t, 2, hub, workers)
	workers[0].expectUsage("0 wait, 1 run, 2 CPUs")
}

func setDeactivated(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "inactive", 2, 0)
	hub.create(hub.statefulSet("web", 2))
	expectAway(t, 2, hub, workers)
	hub.setActive(false)
	workers[0].expectStates("")
	workers[0].expectNoSet("web")
	hub.expectUsage("0 wait, 0 run, 0 CPUs")
	hub.setActive(true)
	expectAway(t, 2, hub, workers)
}

func setRemovedThere(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "setgone", 2, 0)
	hub.create(hub.statefulSet("web", 2))
	expectAway(t, 2, hub, workers)
	there := &appsv1.StatefulSet{}
	if err := workers[0].Get(t.Context(), client.ObjectKey{Namespace: hub.name, Name: "web"}, there); err != nil {
		t.Fatal(err)
	}
	if err := workers[0].Delete(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	workers[0].eventually("another set", func() error {
		again := &appsv1.StatefulSet{}
		err := workers[0].Get(t.Context(), client.ObjectKeyFromObject(there), again)
		if err == nil && again.UID == there.UID {
			err = fmt.Errorf("it is the first still")
		}
		return err
	})
	expectAway(t, 2, hub, workers)
}

func setNameTaken(t *testing.T, f fleet) {
	t.Helper()
	hub, workers := f.newTeam(t, "settaken", 2, 4)
	tenants := workers[1].statefulSet("web", 1)
	workers[1].create(tenants)
	workers[1].expectStates("1 Running")
	workers[0].setQuota(0)
	hub.create(hub.statefulSet("web", 2))
	hub.expectStates("2 waits")
	workers[0].setQuota(2)
	hub.expectStates("2 waits")
	workers[0].expectStates("2 Running")
	workers[1].expectStates("1 Running")
	if err := hub.Delete(t.Context(), hub.statefulSet("web", 2)); err != nil {
		t.Fatal(err)
	}
	workers[0].expectStates("")
	workers[1].expectStates("1 Running")
}
