package fencing

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// connected is a fleet whose only cluster has a fence and holds the lease.
type connected struct{}

func (connected) State(string) (fleet.State, bool) {
	return fleet.State{Connected: true, Fencing: fleet.Fencing{Held: true, FenceAlive: true, RenewalStarted: true}}, true
}

func TestTheFenceIsReportedThoughTheCacheIsBehindOurLastReport(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	made := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: "uid-of-w1"}}
	hub, name := fake.NewClientBuilder().WithScheme(scheme).WithObjects(made).WithStatusSubresource(made).Build(), client.ObjectKeyFromObject(made)
	cache := &staleClusterCache{Client: hub}
	r := &Reconciler{Client: cache, Fleet: connected{}, Clock: clock.RealClock{}}
	report := func() ctrl.Result {
		t.Helper()
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	report()
	cache.shows = &kueue.MultiKueueCluster{}
	if err := hub.Get(t.Context(), name, cache.shows); err != nil {
		t.Fatal(err)
	}
	// What another report of ours has changed meanwhile the cache does not show.
	next := cache.shows.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, fencedCondition(fleet.Fencing{Message: "refused"}))
	if _, err := r.writes.PatchStatus(t.Context(), hub, cache.shows, next, time.Now()); err != nil {
		t.Fatal(err)
	}
	if result := report(); result.RequeueAfter == 0 {
		t.Error("nobody looks again")
	}
	cache.shows = nil
	report()
	cluster := &kueue.MultiKueueCluster{}
	if err := hub.Get(t.Context(), name, cluster); err != nil || !meta.IsStatusConditionTrue(cluster.Status.Conditions, Condition) {
		t.Errorf("conditions %+v, %v", cluster.Status.Conditions, err)
	}
}

// staleClusterCache shows a cluster as it was.
type staleClusterCache struct {
	client.Client
	shows *kueue.MultiKueueCluster
}

func (c *staleClusterCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if cluster, ok := obj.(*kueue.MultiKueueCluster); ok && c.shows != nil {
		c.shows.DeepCopyInto(cluster)
		return nil
	}
	return c.Client.Get(ctx, key, obj, opts...)
}
