package lifecycle

import (
	"slices"
	"time"

	"switchyard.dev/worker/admission"
)

// ConditionType names a condition of a Workload (contract: kueue-api.md 1.13).
type ConditionType string

// The conditions that the lifecycle reads or writes. All others pass through it unchanged.
const (
	QuotaReserved            ConditionType = "QuotaReserved"
	Admitted                 ConditionType = "Admitted"
	Finished                 ConditionType = "Finished"
	Evicted                  ConditionType = "Evicted"
	Preempted                ConditionType = "Preempted"
	Requeued                 ConditionType = "Requeued"
	DeactivationTarget       ConditionType = "DeactivationTarget"
	BlockedOnPreemptionGates ConditionType = "BlockedOnPreemptionGates"
	// PodsReady is read here and written by the job's reconciler.
	PodsReady ConditionType = "PodsReady"
)

// Status is a condition's status. A condition that is absent is neither True nor False.
type Status string

// The values of a condition's status.
const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// Condition is one condition of the workload.
type Condition struct {
	Type    ConditionType
	Status  Status
	Reason  admission.Reason
	Message string
	// Since is when Status last changed.
	Since time.Time
	// Generation of the workload's spec that the condition was computed from; zero when unknown.
	Generation int64
}

// CheckState is what an admission check says about the workload.
type CheckState string

// The states of an admission check.
const (
	CheckPending  CheckState = "Pending"
	CheckReady    CheckState = "Ready"
	CheckRetry    CheckState = "Retry"
	CheckRejected CheckState = "Rejected"
)

// Check is the entry of one admission check.
type Check struct {
	Name    string
	State   CheckState
	Message string
	// Since is when State last changed.
	Since time.Time
	// RequeueAfter is the least delay before the workload may queue again after a Retry; zero for none.
	RequeueAfter time.Duration
	// Retries is how often the check has asked for a retry.
	Retries int32
}

// Reservation is the quota that the workload holds.
type Reservation struct {
	ClusterQueue string
	// Flavors that were assigned, sorted, each once.
	Flavors []string
	// DelayedTopology is true while the places of some pods are still to be computed.
	DelayedTopology bool
}

// PreemptionGate is the position of one preemption gate.
type PreemptionGate struct {
	Name string
	// Open lets the workload preempt as far as this gate is concerned.
	Open bool
	// Since is when the gate took its position.
	Since time.Time
}

// EvictionCount counts evictions for one reason.
type EvictionCount struct {
	Reason string
	// Cause is what made the system deactivate the workload, or what its pods were late with; empty for all other reasons.
	Cause string
	Count int32
}

// State is what is stored about a workload. Functions of this package treat it as a value: they never change a slice that
// they were given.
type State struct {
	// Active is spec.active.
	Active bool
	// Generation of the spec.
	Generation int64
	// Name is the namespace and name, joined by a slash.
	Name string
	// UID tells the workload from all others; it spreads the delays of many that back off together.
	UID string
	// Priority is spec.priority.
	Priority int32
	// SinglePod tells that the workload stands for one pod, which is in no group. A pod that was stopped never runs again.
	SinglePod bool
	// MaxExecution is how long the workload may be admitted, over all its admissions, in whole seconds; 0 for no limit.
	MaxExecution int32
	// Conditions in the stored order, also those that the lifecycle does not know.
	Conditions []Condition
	// Reservation is nil when no quota is held.
	Reservation *Reservation
	// Checks in the stored order.
	Checks []Check
	// RequeueAt is the earliest time to queue again; zero when there is no such bound.
	RequeueAt time.Time
	// RequeueCount is how often pods did not become ready in time.
	RequeueCount int32
	// Cluster that runs the workload, and the clusters that may try to; empty unless dispatched.
	Cluster   string
	Nominated []string
	// UnhealthyNodes that need a replacement.
	UnhealthyNodes []string
	// PastExecution is the time spent admitted in earlier admissions, in whole seconds; nil before one has ended.
	PastExecution *int32
	// Evictions so far.
	Evictions []EvictionCount
	// PreemptionGates are the preemption gates that have a position, in the stored order.
	PreemptionGates []PreemptionGate
}

// Condition returns the condition of a type; ok tells whether there is one.
func (s State) Condition(t ConditionType) (c Condition, ok bool) {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c, true
		}
	}
	return Condition{}, false
}

// IsTrue tells whether the condition is there and True.
func (s State) IsTrue(t ConditionType) bool {
	c, ok := s.Condition(t)
	return ok && c.Status == True
}

// Equal tells whether two states are the same, order included.
func (s State) Equal(t State) bool {
	return s.Active == t.Active && s.Generation == t.Generation && s.UID == t.UID && s.Name == t.Name &&
		s.Priority == t.Priority && s.SinglePod == t.SinglePod && s.MaxExecution == t.MaxExecution &&
		slices.EqualFunc(s.Conditions, t.Conditions, Condition.equal) &&
		slices.EqualFunc(s.Checks, t.Checks, Check.equal) &&
		s.Reservation.equal(t.Reservation) &&
		s.RequeueAt.Equal(t.RequeueAt) && s.RequeueCount == t.RequeueCount &&
		s.Cluster == t.Cluster && slices.Equal(s.Nominated, t.Nominated) &&
		slices.Equal(s.UnhealthyNodes, t.UnhealthyNodes) &&
		equalPointers(s.PastExecution, t.PastExecution) && slices.Equal(s.Evictions, t.Evictions) &&
		slices.EqualFunc(s.PreemptionGates, t.PreemptionGates, PreemptionGate.equal)
}

func equalPointers(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

func (c Condition) equal(d Condition) bool {
	since := c.Since.Equal(d.Since)
	c.Since, d.Since = time.Time{}, time.Time{}
	return since && c == d
}

func (c Check) equal(d Check) bool {
	since := c.Since.Equal(d.Since)
	c.Since, d.Since = time.Time{}, time.Time{}
	return since && c == d
}

func (g PreemptionGate) equal(h PreemptionGate) bool {
	return g.Name == h.Name && g.Open == h.Open && g.Since.Equal(h.Since)
}

func (r *Reservation) equal(t *Reservation) bool {
	if r == nil || t == nil {
		return r == t
	}
	return r.ClusterQueue == t.ClusterQueue && r.DelayedTopology == t.DelayedTopology && slices.Equal(r.Flavors, t.Flavors)
}

// withCondition returns the state with the condition set. Since moves only when the status changes, as readers of conditions
// expect; an equal condition leaves the state as it is.
func (s State) withCondition(t ConditionType, status Status, reason admission.Reason, message string, now time.Time) State {
	set := Condition{Type: t, Status: status, Reason: reason, Message: message, Since: now, Generation: s.Generation}
	if t == Preempted {
		set.Generation = 0 // it says nothing of the spec (contract: messages.md 0)
	}
	i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == t })
	if i < 0 {
		s.Conditions = append(slices.Clone(s.Conditions), set)
		return s
	}
	was := s.Conditions[i]
	if was.Status == status {
		set.Since = was.Since
	}
	if was.Status == status && was.Reason == reason && was.Message == message {
		return s
	}
	s.Conditions = slices.Clone(s.Conditions)
	s.Conditions[i] = set
	return s
}

// withoutCondition returns the state without the condition.
func (s State) withoutCondition(t ConditionType) State {
	if _, ok := s.Condition(t); ok {
		s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c Condition) bool { return c.Type == t })
	}
	return s
}
