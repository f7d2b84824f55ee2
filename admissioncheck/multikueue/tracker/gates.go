package tracker

import (
	"maps"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// gateRequest is that a cluster was asked, in an epoch, to open the preemption gate of its copy. That is seen only when it comes
// back from there. It need not outlive the program: what was opened by an earlier one is seen before anything is decided, unless
// it is on a cluster out of reach.
type gateRequest struct {
	epoch int64
	// requestedAt is when the cluster was asked first; calledAt when the last call began that may have opened the gate, zero for
	// none.
	requestedAt, calledAt time.Time
	// calledBefore is calledAt before the call under way.
	calledBefore time.Time
}

// requestGate records that a cluster is to be asked. Requests of other epochs, and those to other clusters that were not called,
// end.
func (s *workloadState) requestGate(a dispatch.Action, now time.Time) {
	maps.DeleteFunc(s.gates, func(name string, g gateRequest) bool {
		return g.epoch != a.Epoch || name != a.Cluster && g.calledAt.IsZero()
	})
	if _, known := s.gates[a.Cluster]; !known {
		s.gates[a.Cluster] = gateRequest{epoch: a.Epoch, requestedAt: now}
	}
}

// callGate records that a call begins which may open the gate. The request must have been recorded before.
func (s *workloadState) callGate(cluster string, now time.Time) {
	g := s.gates[cluster]
	g.calledBefore, g.calledAt = g.calledAt, now
	s.gates[cluster] = g
}

// refuseGate takes the last call back, because the server surely has not opened the gate.
func (s *workloadState) refuseGate(cluster string) {
	if g, known := s.gates[cluster]; known {
		g.calledAt = g.calledBefore
		s.gates[cluster] = g
	}
}

// addGate adds the request of an epoch to the view, and forgets it once the copy shows that the gate was opened.
func (s *workloadState) addGate(v *dispatch.ClusterView, epoch int64) {
	g, known := s.gates[v.Name]
	if !known || g.epoch != epoch {
		return
	}
	v.Offer.GateRequested, v.Offer.GateFirstRequestedAt, v.Offer.GateRequestedAt = true, g.requestedAt, g.calledAt
	if v.Copy.GateOpenedBy(g.calledAt) {
		delete(s.gates, v.Name)
	}
}
