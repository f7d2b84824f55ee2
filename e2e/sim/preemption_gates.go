package sim

import (
	"errors"
	"maps"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// gateRequest is in which epoch a cluster was asked to open a gate, when first, and when the last call began that may have done so.
type gateRequest struct {
	epoch           int64
	firstAt, lastAt time.Time
}

// requestGate asks a cluster to open the gate of a copy. Unless it was turned down for sure, that may have happened.
func (t *decision) requestGate(a dispatch.Action) error {
	asked := t.driver.gateRequests[t.item.name]
	if asked == nil {
		asked = map[string]gateRequest{}
		t.driver.gateRequests[t.item.name] = asked
	}
	maps.DeleteFunc(asked, func(name string, g gateRequest) bool {
		return g.epoch != a.Epoch || name != a.Cluster && g.lastAt.IsZero()
	})
	before, known := asked[a.Cluster]
	if !known {
		before = gateRequest{epoch: a.Epoch, firstAt: t.now}
	}
	now := before
	t.hub.lastVersion++
	now.lastAt = t.now.Add(time.Duration(t.hub.lastVersion)) // of two calls one is the later
	asked[a.Cluster] = now
	err := t.makeCall(func() error { return t.runAction(a) })
	if errors.Is(err, errRefused) {
		asked[a.Cluster] = before
	}
	return err
}

// addGateRequest adds to a view what the cluster was asked about its gate in this epoch, and forgets it once the copy shows it.
func (w *World) addGateRequest(item workload, v *dispatch.ClusterView) {
	asked, known := w.driver.gateRequests[item.name][v.Name]
	if !known || asked.epoch != item.state().Epoch {
		return
	}
	v.Offer.GateRequested, v.Offer.GateFirstRequestedAt, v.Offer.GateRequestedAt = true, asked.firstAt, asked.lastAt
	if v.Copy.GateOpenedBy(asked.lastAt) {
		delete(w.driver.gateRequests[item.name], v.Name) // seen
		w.markChanged()
	}
}
