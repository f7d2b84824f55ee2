package controller

import (
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// preemptionGateTracker remembers which clusters were asked to open the preemption gate of a Workload's copy, because that is seen only
// when it comes back from there. It need not outlive the program: what was opened by an earlier one is seen before
// anything is decided, unless it is on a cluster out of reach (DESIGN.md).
type preemptionGateTracker struct {
	mu       sync.Mutex
	requests map[client.ObjectKey]map[string]preemptionGateRequest // by cluster
}

// preemptionGateRequest is in which epoch a cluster was asked, when first, and when the last call began that may have opened the gate: zero for
// none.
type preemptionGateRequest struct {
	epoch                 int64
	requestedAt, calledAt time.Time
}

// recordRequest notes that a cluster is about to be asked, and no other that was not called yet.
func (g *preemptionGateTracker) recordRequest(key client.ObjectKey, cluster string, epoch int64, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.requests == nil {
		g.requests = map[client.ObjectKey]map[string]preemptionGateRequest{}
	}
	if g.requests[key] == nil {
		g.requests[key] = map[string]preemptionGateRequest{}
	}
	maps.DeleteFunc(g.requests[key], func(name string, a preemptionGateRequest) bool {
		return a.epoch != epoch || name != cluster && a.calledAt.IsZero()
	})
	if _, known := g.requests[key][cluster]; !known {
		g.requests[key][cluster] = preemptionGateRequest{epoch: epoch, requestedAt: now}
	}
}

// trackCall notes that a call to open the gate begins, and takes it back if the call surely has not opened it.
func (g *preemptionGateTracker) trackCall(key client.ObjectKey, cluster string, epoch int64, now time.Time, call func() error) error {
	g.recordRequest(key, cluster, epoch, now)
	before := g.setCalledAt(key, cluster, now)
	err := call()
	if isDefiniteRefusal(err) {
		g.setCalledAt(key, cluster, before)
	}
	return err
}

// setCalledAt sets when the last call began, and returns what was set before.
func (g *preemptionGateTracker) setCalledAt(key client.ObjectKey, cluster string, at time.Time) (before time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked, known := g.requests[key][cluster]
	if !known {
		return time.Time{}
	}
	before, asked.calledAt = asked.calledAt, at
	g.requests[key][cluster] = asked
	return before
}

// isDefiniteRefusal tells an answer of a server that has done nothing from everything else.
func isDefiniteRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// applyTo adds to the view of a cluster what was asked of it in this epoch, and forgets it once the copy shows it.
func (g *preemptionGateTracker) applyTo(key client.ObjectKey, v *dispatch.ClusterView, epoch int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked, known := g.requests[key][v.Name]
	if !known || asked.epoch != epoch {
		return
	}
	v.Offer.GateRequested, v.Offer.GateFirstRequestedAt, v.Offer.GateRequestedAt = true, asked.requestedAt, asked.calledAt
	if v.Copy.GateOpenedBy(asked.calledAt) {
		delete(g.requests[key], v.Name) // seen
	}
}

// forget forgets a Workload.
func (g *preemptionGateTracker) forget(key client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.requests, key)
}
