package podgroup_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/podgroup"
)

func TestNothingIsDoneTwiceWhileTheCacheIsBehind(t *testing.T) {
	c := newCluster(t, member("a1", 2), member("a2", 2))
	c.reconcileAll()
	c.admit()
	c.freeze()
	c.wantWrites("patch Pod/a1", "patch Pod/a2")
	if wait := c.reconcileOnce().RequeueAfter; wait <= 0 {
		t.Error("nobody looks again")
	}
	c.thaw()
	c.wantWrites()

	c.phase(corev1.PodRunning, "a1", "a2")
	c.reconcileAll()
	c.evict()
	c.freeze()
	c.wantWrites("apply Pod/a1/status", "apply Pod/a2/status", "delete Pod/a1", "delete Pod/a2")
	c.thaw()
	c.wantWrites()
}

// A pod without finalizers is gone at once; what the cache shows of it is the past.
func TestADeletedPodIsNotDeletedAgain(t *testing.T) {
	free := func(pod *corev1.Pod) { pod.Finalizers = nil }
	c := newCluster(t, member("a1", 1), member("a2", 1, free))
	c.freeze()
	c.wantWrites("delete Pod/a2")
	c.thaw()
	c.wantWrites("create Workload")
}

func TestOnePodThatCannotBeWrittenHoldsUpNoOther(t *testing.T) {
	c := newCluster(t, member("a1", 3), member("a2", 3), member("a3", 3))
	c.reconcileAll()
	c.admit()
	c.refuse = func(pod client.Object) error {
		if pod.GetName() == "a2" {
			return apierrors.NewConflict(corev1.Resource("pods"), "a2", errors.New("written by another"))
		}
		return nil
	}
	if wait := c.reconcileOnce().RequeueAfter; wait <= 0 {
		t.Error("nobody tries again")
	}
	if isGated(c.pod("a1")) || !isGated(c.pod("a2")) || isGated(c.pod("a3")) {
		t.Error("others wait, too")
	}
	c.refuse = nil
	c.wantWrites("patch Pod/a2")
	c.refuse = func(client.Object) error { return errors.New("no server") }
	c.change("a2", func(pod *corev1.Pod) { pod.Spec.SchedulingGates = member("a2", 3).Spec.SchedulingGates })
	if _, err := c.reconciler.Reconcile(context.Background(), c.target); err == nil {
		t.Error("an error of the server is not reported")
	}
}

func TestALargeGroupCanBeStoppedWhileItIsStarted(t *testing.T) {
	const size = podgroup.MaxChanges + 50
	pods := make([]client.Object, 0, size)
	for i := range size {
		pods = append(pods, member(fmt.Sprintf("a%d", i), size))
	}
	c := newCluster(t, pods...)
	c.reconcileAll()
	c.admit()
	c.writes = nil
	if again := c.reconcileOnce(); len(c.writes) != podgroup.MaxChanges || again.RequeueAfter <= 0 {
		t.Fatalf("%d pods were let go in one look, again in %s", len(c.writes), again.RequeueAfter)
	}
	c.evict()
	c.reconcileAll()
	waiting, deleting := 0, 0
	for _, pod := range pods {
		switch found := c.pod(pod.GetName()); {
		case found.DeletionTimestamp != nil:
			deleting++
		case isGated(found):
			waiting++
		}
	}
	if waiting != 50 || deleting != podgroup.MaxChanges {
		t.Errorf("%d pods wait and %d are deleted", waiting, deleting)
	}
}

// After a restart nothing is remembered, and everything goes on from what is stored.
func TestARestartLosesNothing(t *testing.T) {
	c := newCluster(t, member("a1", 2), member("a2", 2))
	c.reconcileAll()
	c.admit()
	refused := 0
	c.refuse = func(client.Object) error {
		if refused++; refused > 1 {
			return errors.New("killed")
		}
		return nil
	}
	if _, err := c.reconciler.Reconcile(context.Background(), c.target); err == nil {
		t.Fatal("it was not killed")
	}
	c.refuse = nil
	c.restart()
	if writes := c.reconcileAll(); len(writes) != 1 {
		t.Errorf("writes are %v, want the pod that is left", writes)
	}
	c.hasCondition(kueue.WorkloadFinished, "")
}
