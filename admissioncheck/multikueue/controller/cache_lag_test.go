package controller

import (
	"context"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/kube"
)

// rewoundCache is a cache after the hub's etcd was put back: whatever it shows is older than what was ever written.
type rewoundCache struct {
	client.Client
}

func (c rewoundCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, o...)
	if err == nil && obj.GetResourceVersion() != "" {
		obj.SetResourceVersion("1")
	}
	return err
}

func TestVersionsThatWentBackwardsHoldNobodyUpForLong(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.eventually("an offer", func() bool { return st.copyOn("w1") != nil })
	st.stop()
	now := testclock.NewFakePassiveClock(time.Now())
	r := st.reconciler
	r.Client, r.Clock = rewoundCache{st.hub}, now
	newest := st.hubWorkload()
	newest.ResourceVersion = "1000000"
	r.writes.Record(newest, now.Now())

	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: workloadKey()})
	if err != nil || result.RequeueAfter != kube.MaxCacheLag {
		t.Fatalf("got %+v, %v; want to look again when the write is forgotten", result, err)
	}
	now.SetTime(now.Now().Add(kube.MaxCacheLag + time.Second))
	if s, err := r.observe(t.Context(), workloadKey()); err != nil || s == nil {
		t.Errorf("still waits for a version that will never come: %v", err)
	}
}
