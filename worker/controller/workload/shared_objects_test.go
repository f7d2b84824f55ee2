package workload

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/workload"
)

// sharingCache answers reads as the cache does that was asked for no copies: with everything but the outermost struct shared.
type sharingCache struct {
	shared, originals []client.Object
}

func (l *sharingCache) get(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := inner.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	shared, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	l.shared, l.originals = append(l.shared, shared), append(l.originals, o.DeepCopyObject().(client.Object))
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(shared).Elem())
	return nil
}

func TestCachedObjectsAreNotChanged(t *testing.T) {
	drain := func(_ *kueue.LocalQueue, cq *kueue.ClusterQueue) { cq.Spec.StopPolicy = kueue.HoldAndDrain }
	checked := func(_ *kueue.LocalQueue, cq *kueue.ClusterQueue) {
		cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "b"}, {Name: "a"}}}
	}
	for name, c := range map[string]struct {
		queues func(*kueue.LocalQueue, *kueue.ClusterQueue)
		change func(*kueue.Workload)
	}{
		"a workload that runs":            {openQueues, func(*kueue.Workload) {}},
		"of a queue that drains":          {drain, func(*kueue.Workload) {}},
		"of a queue with new checks":      {checked, func(*kueue.Workload) {}},
		"that is deactivated":             {openQueues, func(wl *kueue.Workload) { wl.Spec.Active = ptr.To(false) }},
		"that has had its time":           {openQueues, func(wl *kueue.Workload) { wl.Spec.MaximumExecutionTimeSeconds = ptr.To[int32](1) }},
		"that has finished without owner": {openQueues, func(wl *kueue.Workload) { wl.OwnerReferences = nil; workload.Finish(wl, "Succeeded", "", noon) }},
		"whose pods are late":             {openQueues, func(wl *kueue.Workload) { wl.OwnerReferences = nil }},
		"that was dispatched and is gated": {openQueues, func(wl *kueue.Workload) {
			wl.Annotations = map[string]string{kueue.AdmissionGatedByAnnotation: "x"}
			wl.Status.NominatedClusterNames, wl.Status.ClusterName = []string{"east"}, ptr.To("east")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			wl := newAdmittedWorkload()
			c.change(wl)
			l := &sharingCache{}
			s := newTestEnv(t, interceptor.Funcs{Get: l.get}, append(testQueues(c.queues), wl)...)
			s.Policy.PodsReady = &lifecycle.PodsReadyPolicy{Timeout: 30 * time.Second, BackoffBase: time.Minute, BackoffMax: time.Hour}
			for range 3 {
				s.reconcile(t)
			}
			if len(l.shared) == 0 {
				t.Fatal("nothing was read")
			}
			for i := range l.shared {
				if diff := cmp.Diff(l.originals[i], l.shared[i]); diff != "" {
					t.Errorf("-was +is:\n%s", diff)
				}
			}
		})
	}
}
