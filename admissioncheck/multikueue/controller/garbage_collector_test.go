package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/orphans"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

func TestGarbageCollectionFindsWhatHasNoBusinessOnACluster(t *testing.T) {
	scheme := testScheme(t)
	worker := newFakeServer(t, scheme)
	for _, name := range []string{"no-workload", "bound-here", "bound-elsewhere", "nominated-here", "finished-here", "retained-here", "retained-elsewhere", "no-longer-retained", "runs-again"} {
		remote := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
		}}
		if name != "runs-again" {
			workload.Finish(remote, kueue.ReasonSucceeded, "", time.Now())
		}
		if err := worker.Create(context.Background(), remote); err != nil {
			t.Fatal(err)
		}
		if err := worker.Status().Update(context.Background(), remote); err != nil {
			t.Fatal(err)
		}
	}
	finished := func(cluster string, ago time.Duration) kueue.WorkloadStatus {
		return kueue.WorkloadStatus{ClusterName: &cluster, Conditions: []metav1.Condition{
			{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-ago))},
		}}
	}
	local := func(name string, status kueue.WorkloadStatus) *kueue.Workload {
		return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Status: status}
	}
	hub := newBuilder(t, scheme).WithObjects(
		local("bound-here", kueue.WorkloadStatus{ClusterName: ptr.To("w1")}),
		local("finished-here", kueue.WorkloadStatus{ClusterName: ptr.To("w1"), Conditions: []metav1.Condition{
			{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue},
		}}),
		local("retained-here", finished("w1", time.Minute)), local("retained-elsewhere", finished("w2", time.Minute)),
		local("no-longer-retained", finished("w1", 2*time.Hour)), local("runs-again", finished("w1", time.Minute)),
		local("bound-elsewhere", kueue.WorkloadStatus{ClusterName: ptr.To("w2")}),
		local("nominated-here", kueue.WorkloadStatus{NominatedClusterNames: []string{"w1"}}),
	).Build()
	kinds := FleetKinds(nil, nil)
	f := fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: kinds, Dial: func(*rest.Config) (client.WithWatch, error) { return worker, nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = f.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	f.Connect("w1", fleet.Credentials{Config: &rest.Config{}, Fingerprint: "1"})
	waitUntil(t, "connected", func() bool { s, _ := f.State("w1"); return s.Connected })

	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := f.WorkloadRequests().Source().Start(ctx, queue); err != nil {
		t.Fatal(err)
	}
	drainQueue(queue)
	for _, c := range []struct {
		retention time.Duration
		want      []string
	}{
		{0, []string{"bound-elsewhere", "finished-here", "no-longer-retained", "no-workload", "retained-elsewhere", "retained-here", "runs-again"}},
		{time.Hour, []string{"bound-elsewhere", "finished-here", "no-longer-retained", "no-workload", "retained-elsewhere", "runs-again"}},
	} {
		(&orphans.GarbageCollector{
			Client: hub, Fleet: f, Kinds: kinds, Clock: clock.RealClock{}, Policy: dispatch.Policy{RetainFinished: c.retention},
		}).RequeueGarbage(ctx)
		if got := drainQueue(queue); !slices.Equal(got, c.want) {
			t.Errorf("with a retention of %s, found %v", c.retention, got)
		}
	}
}

// drainQueue empties a queue and returns the names that were in it, sorted.
func drainQueue(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) []string {
	var names []string
	for queue.Len() > 0 {
		request, _ := queue.Get()
		queue.Done(request)
		names = append(names, request.Name)
	}
	slices.Sort(names)
	return names
}
