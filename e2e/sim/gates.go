package sim

import (
	"errors"
	"maps"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// gateAsked is in which epoch a cluster was asked to open a gate, when first, and when the last call began that may have done so.
type gateAsked struct {
	epoch    int64
	from, at time.Time
}

// callGate asks a cluster to open the gate of a copy. Unless it was turned down for sure, that may have happened.
func (t *turn) callGate(a dispatch.Action) error {
	asked := t.program.asked[t.item.name]
	if asked == nil {
		asked = map[string]gateAsked{}
		t.program.asked[t.item.name] = asked
	}
	maps.DeleteFunc(asked, func(name string, g gateAsked) bool { return g.epoch != a.Epoch || name != a.Cluster && g.at.IsZero() })
	before, known := asked[a.Cluster]
	if !known {
		before = gateAsked{epoch: a.Epoch, from: t.now}
	}
	now := before
	t.hub.last++
	now.at = t.now.Add(time.Duration(t.hub.last)) // of two calls one is the later
	asked[a.Cluster] = now
	err := t.call(func() error { return t.act(a) })
	if errors.Is(err, errRefused) {
		asked[a.Cluster] = before
	}
	return err
}

// tellGate adds to a view what the cluster was asked about its gate in this epoch, and forgets it once the copy shows it.
func (w *World) tellGate(item workload, v *dispatch.ClusterView) {
	asked, known := w.program.asked[item.name][v.Name]
	if !known || asked.epoch != item.state().Epoch {
		return
	}
	v.GateAsked, v.GateAskedFrom, v.GateAskedAt = true, asked.from, asked.at
	if v.Copy.OpenedBy(asked.at) {
		delete(w.program.asked[item.name], v.Name) // seen
		w.changed()
	}
}
