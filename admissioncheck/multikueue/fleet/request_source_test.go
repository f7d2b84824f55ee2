package fleet

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Fifty thousand Workloads that run already must not keep one that has just come from being dispatched.
func TestWhatWasThereWhenTheProgramStartedComesAfterWhatIsNew(t *testing.T) {
	s := &RequestSource{}
	s.Enqueue(keyOf("early"), 0)
	queue := priorityqueue.New[reconcile.Request](t.Name())
	defer queue.ShutDown()
	if err := s.start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	s.EnqueueLowPriority(keyOf("found"))
	s.EnqueueLowPriority(keyOf("found, and changed"))
	s.Enqueue(keyOf("new"), 0)
	s.Enqueue(keyOf("found, and changed"), 0)

	var got []types.NamespacedName
	for range 4 {
		request, _ := queue.Get()
		got = append(got, request.NamespacedName)
		queue.Done(request)
	}
	soon, later := got[:2], got[2:]
	if !slices.Contains(soon, keyOf("new")) || !slices.Contains(soon, keyOf("found, and changed")) {
		t.Errorf("first came %v, then %v", soon, later)
	}
}

// What the first list has is told once, when something can be done about it.
func TestWhatAClusterHasIsToldWhenItIsConnected(t *testing.T) {
	w := newTestEnv(t, nil, "w1")
	w.create("w1", remoteWorkload("there", "hub"))
	w.connect("w1")
	w.waitConnected("w1")
	queue := priorityqueue.New[reconcile.Request](t.Name())
	defer queue.ShutDown()
	if err := w.fleet.WorkloadRequests().start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	request, _ := queue.Get()
	queue.Done(request)
	if request.NamespacedName != keyOf("there") {
		t.Errorf("told of %v", request)
	}
	w.create("w1", remoteWorkload("new", "hub"))
	request, _ = queue.Get()
	queue.Done(request)
	if request.NamespacedName != keyOf("new") {
		t.Errorf("told of %v", request)
	}
}
