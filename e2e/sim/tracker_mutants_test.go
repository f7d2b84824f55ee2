package sim

import (
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/tracker"
)

// trackerMutant is a Tracker with a mistake: each function that is set takes the place of a method.
type trackerMutant struct {
	Tracker
	sent         func(Tracker, tracker.Workload, dispatch.Action, time.Time)
	answered     func(Tracker, tracker.Workload, dispatch.Action, tracker.Answer, time.Time)
	addTo        func(Tracker, tracker.Workload, int64, *dispatch.ClusterView)
	observe      func(Tracker, tracker.Workload, dispatch.State, dispatch.Observation, dispatch.Plan)
	isRemoved    func(Tracker, string, int64, time.Time) bool
	observeLinks func(*tracker.Connectivity)
}

func (m *trackerMutant) Sent(w tracker.Workload, a dispatch.Action, now time.Time) {
	if m.sent != nil {
		m.sent(m.Tracker, w, a, now)
		return
	}
	m.Tracker.Sent(w, a, now)
}

func (m *trackerMutant) Answered(w tracker.Workload, a dispatch.Action, answer tracker.Answer, now time.Time) {
	if m.answered != nil {
		m.answered(m.Tracker, w, a, answer, now)
		return
	}
	m.Tracker.Answered(w, a, answer, now)
}

func (m *trackerMutant) AddTo(w tracker.Workload, epoch int64, v *dispatch.ClusterView) {
	if m.addTo != nil {
		m.addTo(m.Tracker, w, epoch, v)
		return
	}
	m.Tracker.AddTo(w, epoch, v)
}

func (m *trackerMutant) Observe(w tracker.Workload, s dispatch.State, o dispatch.Observation, plan dispatch.Plan) {
	if m.observe != nil {
		m.observe(m.Tracker, w, s, o, plan)
		return
	}
	m.Tracker.Observe(w, s, o, plan)
}

func (m *trackerMutant) IsRemoved(uid string, connection int64, now time.Time) bool {
	if m.isRemoved != nil {
		return m.isRemoved(m.Tracker, uid, connection, now)
	}
	return m.Tracker.IsRemoved(uid, connection, now)
}

func (m *trackerMutant) ObserveLinks(all []tracker.ClusterLink, now time.Time) tracker.Connectivity {
	seen := m.Tracker.ObserveLinks(all, now)
	if m.observeLinks != nil {
		m.observeLinks(&seen)
	}
	return seen
}

// mutantsOfTracker forget what the dispatcher has done, or remember what is over.
func mutantsOfTracker() []mutant {
	return []mutant{
		{mistake: "forgets that it may have opened a gate", invariants: []string{invPreemptionGates}, rare: true, tracker: &trackerMutant{
			sent: func(t Tracker, w tracker.Workload, a dispatch.Action, now time.Time) {
				if a.Verb != dispatch.OpenGate {
					t.Sent(w, a, now)
				}
			},
		}},
		{mistake: "takes any answer about a gate for a refusal", invariants: []string{invPreemptionGates}, rare: true, tracker: &trackerMutant{
			answered: func(t Tracker, w tracker.Workload, a dispatch.Action, answer tracker.Answer, now time.Time) {
				answer.Refused = true
				t.Answered(w, a, answer, now)
			},
		}},
		{mistake: "forgets what is under way with every look", invariants: []string{invOfferTime}, tracker: &trackerMutant{
			observe: func(t Tracker, w tracker.Workload, _ dispatch.State, _ dispatch.Observation, _ dispatch.Plan) {
				t.ForgetWorkload(w.Key)
			},
		}},
		{mistake: "forgets when it began to make an offer", invariants: []string{invOfferTime}, tracker: &trackerMutant{
			addTo: func(t Tracker, w tracker.Workload, epoch int64, v *dispatch.ClusterView) {
				t.AddTo(w, epoch, v)
				v.Offer.StartedAt = time.Time{}
			},
		}},
		{mistake: "takes everything for removed", invariants: []string{invDeletion}, tracker: &trackerMutant{
			isRemoved: func(Tracker, string, int64, time.Time) bool { return true },
		}},
		{mistake: "does not notice that a cut-off has ended", invariants: []string{invGrace}, tracker: &trackerMutant{
			observeLinks: func(seen *tracker.Connectivity) { seen.CutOffEndedAt = time.Time{} },
		}},
		{mistake: "sees only the connections in view", invariants: []string{invCutOff}, tracker: &trackerMutant{
			observeLinks: func(seen *tracker.Connectivity) { seen.Links = seen.Links[:min(1, len(seen.Links))] },
		}},
	}
}
