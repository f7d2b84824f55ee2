package controller

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

func (g *preemptionGateTracker) viewOf(cluster string, epoch int64) dispatch.ClusterView {
	v := dispatch.ClusterView{Name: cluster}
	g.applyTo(workloadKey(), &v, epoch)
	return v
}

func TestAPreemptionGateRequestIsRememberedForItsEpochAndUntilAnotherIsMade(t *testing.T) {
	var g preemptionGateTracker
	asked := func(cluster string, epoch int64, want bool) {
		t.Helper()
		if got := g.viewOf(cluster, epoch).Offer.GateRequested; got != want {
			t.Errorf("asked %s in epoch %d: got %t", cluster, epoch, got)
		}
	}
	asked("w1", 1, false)
	g.recordRequest(workloadKey(), "w1", 1, noon)
	asked("w1", 1, true)
	asked("w2", 1, false)
	asked("w1", 2, false)
	g.recordRequest(workloadKey(), "w2", 1, noon)
	asked("w1", 1, false)
	asked("w2", 1, true)
	_ = g.trackCall(workloadKey(), "w1", 1, noon, func() error { return nil })
	g.recordRequest(workloadKey(), "w2", 1, noon)
	asked("w1", 1, true) // it may be open
	v := dispatch.ClusterView{Name: "w2", Copy: dispatch.Copy{Holder: dispatch.Ours}}
	g.applyTo(workloadKey(), &v, 1)
	asked("w2", 1, false)
	g.recordRequest(workloadKey(), "w2", 1, noon)
	g.forget(workloadKey())
	asked("w2", 1, false)
}

func TestACallCountsUnlessItSurelyHasNotOpenedThePreemptionGate(t *testing.T) {
	resource := schema.GroupResource{Resource: "workloads"}
	for name, c := range map[string]struct {
		err   error
		opens bool
	}{
		"it succeeds":            {nil, true},
		"nobody knows":           {errors.New("connection reset"), true},
		"the server has trouble": {apierrors.NewInternalError(errors.New("no")), true},
		"it is refused":          {apierrors.NewForbidden(resource, "w", errors.New("no")), false},
		"somebody was faster":    {apierrors.NewConflict(resource, "w", errors.New("no")), false},
	} {
		t.Run(name, func(t *testing.T) {
			var g preemptionGateTracker
			g.recordRequest(workloadKey(), "w1", 1, noon)
			if at := g.viewOf("w1", 1).Offer.GateRequestedAt; !at.IsZero() {
				t.Errorf("may be open since %v before it was called", at)
			}
			first, second := noon.Add(time.Second), noon.Add(time.Minute)
			call := func(at time.Time, err error) dispatch.ClusterView {
				var during dispatch.ClusterView
				_ = g.trackCall(workloadKey(), "w1", 1, at, func() error { during = g.viewOf("w1", 1); return err })
				if !during.Offer.GateRequestedAt.Equal(at) {
					t.Errorf("during the call of %v: %v", at, during.Offer.GateRequestedAt)
				}
				return g.viewOf("w1", 1)
			}
			if v := call(first, c.err); v.Offer.GateRequestedAt.Equal(first) != c.opens || !v.Offer.GateFirstRequestedAt.Equal(noon) {
				t.Errorf("after it: %v, asked first at %v", v.Offer.GateRequestedAt, v.Offer.GateFirstRequestedAt)
			}
			_ = call(first, nil)
			if v := call(second, c.err); v.Offer.GateRequestedAt.Equal(second) != c.opens || v.Offer.GateRequestedAt.IsZero() {
				t.Errorf("after a second one: %v", v.Offer.GateRequestedAt)
			}
		})
	}
}
