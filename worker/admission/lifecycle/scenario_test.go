package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"switchyard.dev/worker/admission"
)

// epoch is when every story begins.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// queuedState is a new workload; open is the world in which nothing stands in its way.
func queuedState() State { return State{Active: true, Generation: 1} }

func openObservation(seconds int) Observation {
	return Observation{
		Now:          at(seconds),
		LocalQueue:   Queue{Name: "lq", State: QueueOpen},
		ClusterQueue: Queue{Name: "cq", State: QueueOpen},
		Owned:        true,
	}
}

func (o Observation) withChange(change func(*Observation)) Observation {
	change(&o)
	return o
}

// reservedState holds quota in cq since the given second, with checks that are Pending.
func reservedState(seconds int, checks ...string) State {
	return Reserve(queuedState(), Reservation{ClusterQueue: "cq", Flavors: []string{"gpu"}}, checks, "reserved", at(seconds))
}

// saying sets what a check says, as its controller would.
func (s State) withCheckState(name string, state CheckState, message string, seconds int) State {
	checks := append([]Check{}, s.Checks...)
	for i := range checks {
		if checks[i].Name == name {
			checks[i].State, checks[i].Message, checks[i].Since = state, message, at(seconds)
		}
	}
	s.Checks = checks
	return s
}

// stateText writes a state in one line a condition, leaving out what is empty, for comparison with a story's outcome.
func stateText(s State) string {
	b := &strings.Builder{}
	for _, c := range s.Conditions {
		fmt.Fprintf(b, "%s=%s %s +%ds\n", c.Type, c.Status, c.Reason, int(c.Since.Sub(epoch).Seconds()))
	}
	for _, c := range s.Checks {
		fmt.Fprintf(b, "check %s %s retries=%d %q\n", c.Name, c.State, c.Retries, c.Message)
	}
	if s.Reservation != nil {
		fmt.Fprintf(b, "holds quota in %s\n", s.Reservation.ClusterQueue)
	}
	if s.Cluster != "" || len(s.Nominated) > 0 {
		fmt.Fprintf(b, "cluster %q nominated %q\n", s.Cluster, s.Nominated)
	}
	if s.RequeueCount != 0 {
		fmt.Fprintf(b, "requeued %d times\n", s.RequeueCount)
	}
	if !s.RequeueAt.IsZero() {
		fmt.Fprintf(b, "requeue at +%ds\n", int(s.RequeueAt.Sub(epoch).Seconds()))
	}
	if s.PastExecution != nil {
		fmt.Fprintf(b, "past execution %ds\n", *s.PastExecution)
	}
	for _, e := range s.Evictions {
		fmt.Fprintf(b, "evicted %d times for %s %s\n", e.Count, e.Reason, e.Cause)
	}
	return b.String()
}

func eventReasons(list []Event) []admission.Reason {
	var out []admission.Reason
	for _, b := range list {
		out = append(out, b.Reason)
	}
	return out
}
