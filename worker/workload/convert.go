package workload

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/kube"
)

// State returns what the lifecycle knows about the Workload.
func State(wl *kueue.Workload) lifecycle.State {
	st := &wl.Status
	s := lifecycle.State{
		Active:        IsActive(wl),
		Generation:    wl.Generation,
		Name:          wl.Namespace + "/" + wl.Name,
		UID:           string(wl.UID),
		Priority:      ptr.Deref(wl.Spec.Priority, 0),
		SinglePod:     IsSinglePod(wl),
		MaxExecution:  ptr.Deref(wl.Spec.MaximumExecutionTimeSeconds, 0),
		Reservation:   convertReservation(st.Admission),
		Nominated:     st.NominatedClusterNames,
		Cluster:       ptr.Deref(st.ClusterName, ""),
		PastExecution: st.AccumulatedPastExecutionTimeSeconds,
	}
	for _, c := range st.Conditions {
		s.Conditions = append(s.Conditions, lifecycle.Condition{
			Type: lifecycle.ConditionType(c.Type), Status: lifecycle.Status(c.Status), Reason: admission.Reason(c.Reason),
			Message: c.Message, Since: c.LastTransitionTime.Time, Generation: c.ObservedGeneration,
		})
	}
	for _, c := range st.AdmissionChecks {
		s.Checks = append(s.Checks, lifecycle.Check{
			Name: string(c.Name), State: lifecycle.CheckState(c.State), Message: c.Message, Since: c.LastTransitionTime.Time,
			RequeueAfter: time.Duration(ptr.Deref(c.RequeueAfterSeconds, 0)) * time.Second,
			Retries:      ptr.Deref(c.RetryCount, 0),
		})
	}
	if r := st.RequeueState; r != nil {
		s.RequeueCount = ptr.Deref(r.Count, 0)
		s.RequeueAt = ptr.Deref(r.RequeueAt, metav1.Time{}).Time
	}
	for _, n := range st.UnhealthyNodes {
		s.UnhealthyNodes = append(s.UnhealthyNodes, n.Name)
	}
	if st.SchedulingStats != nil {
		for _, e := range st.SchedulingStats.Evictions {
			s.Evictions = append(s.Evictions, lifecycle.EvictionCount{Reason: e.Reason, Cause: e.UnderlyingCause, Count: e.Count})
		}
	}
	for _, g := range st.PreemptionGates {
		s.PreemptionGates = append(s.PreemptionGates, lifecycle.PreemptionGate{Name: g.Name, Open: g.Position == kueue.GateOpen, Since: g.LastTransitionTime.Time})
	}
	return s
}

// convertReservation converts status.admission; nil without one. The flavors are sorted.
func convertReservation(a *kueue.Admission) *lifecycle.Reservation {
	if a == nil {
		return nil
	}
	r := &lifecycle.Reservation{ClusterQueue: string(a.ClusterQueue)}
	for _, ps := range a.PodSetAssignments {
		for _, flavor := range ps.Flavors {
			r.Flavors = append(r.Flavors, string(flavor))
		}
		if ps.DelayedTopologyRequest == kueue.DelayedTopologyRequestStatePending {
			r.DelayedTopology = true
		}
	}
	slices.Sort(r.Flavors)
	r.Flavors = slices.Compact(r.Flavors)
	return r
}

// ApplyPlan makes the status of the Workload what the plan says.
func ApplyPlan(wl *kueue.Workload, plan lifecycle.Plan) { SetState(wl, plan.Next) }

// SetState makes the status of the Workload what the state says. The lifecycle can end a reservation but not make one up:
// an admission is only ever removed here (see [Reserve]).
func SetState(wl *kueue.Workload, s lifecycle.State) {
	st := &wl.Status
	st.Conditions = convertConditions(s.Conditions)
	st.AdmissionChecks = convertChecks(s.Checks, st.AdmissionChecks)
	if s.Reservation == nil {
		st.Admission = nil
	}
	st.NominatedClusterNames = s.Nominated
	st.ClusterName = nonZero(s.Cluster)
	st.AccumulatedPastExecutionTimeSeconds = s.PastExecution
	st.RequeueState = convertRequeueState(s)
	st.UnhealthyNodes = nil
	for _, name := range s.UnhealthyNodes {
		st.UnhealthyNodes = append(st.UnhealthyNodes, kueue.UnhealthyNode{Name: name})
	}
	if len(s.Evictions) > 0 {
		st.SchedulingStats = &kueue.SchedulingStats{Evictions: convertEvictions(s.Evictions)}
	}
	st.PreemptionGates = convertPreemptionGates(s.PreemptionGates, wl)
}

// convertPreemptionGates are the positions of the gates of the spec, in its order. One that has none yet has been closed since the Workload
// was made (contract: multikueue.md 8). So the first write of the status, whatever it is about, says so too, and gates cost no
// write of their own.
func convertPreemptionGates(from []lifecycle.PreemptionGate, wl *kueue.Workload) []kueue.PreemptionGateState {
	var list []kueue.PreemptionGateState
	for _, gate := range wl.Spec.PreemptionGates {
		state := kueue.PreemptionGateState{Name: gate.Name, Position: kueue.GateClosed, LastTransitionTime: wl.CreationTimestamp}
		for _, g := range from {
			if g.Name == gate.Name {
				state.LastTransitionTime = metav1.NewTime(g.Since)
				if g.Open {
					state.Position = kueue.GateOpen
				}
			}
		}
		list = append(list, state)
	}
	return list
}

// convertConditions converts conditions into the form of the API, with messages cut to its bound.
func convertConditions(from []lifecycle.Condition) []metav1.Condition {
	var list []metav1.Condition
	for _, c := range from {
		list = append(list, metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: string(c.Reason),
			Message:            kube.Truncate(c.Message, kube.MaxConditionMessage),
			LastTransitionTime: metav1.NewTime(c.Since), ObservedGeneration: c.Generation,
		})
	}
	return list
}

// convertChecks keeps the pod set updates, which the lifecycle does not know, of entries that stay in their state.
func convertChecks(from []lifecycle.Check, were []kueue.AdmissionCheckState) []kueue.AdmissionCheckState {
	var list []kueue.AdmissionCheckState
	for _, c := range from {
		entry := kueue.AdmissionCheckState{
			Name: kueue.AdmissionCheckReference(c.Name), State: kueue.CheckState(c.State), Message: c.Message,
			LastTransitionTime:  metav1.NewTime(c.Since),
			RequeueAfterSeconds: nonZero(seconds(c.RequeueAfter)), RetryCount: nonZero(c.Retries),
		}
		i := slices.IndexFunc(were, func(w kueue.AdmissionCheckState) bool { return w.Name == entry.Name && w.State == entry.State })
		if i >= 0 {
			entry.PodSetUpdates = were[i].PodSetUpdates
		}
		list = append(list, entry)
	}
	return list
}

// convertRequeueState converts the requeue state; nil if nothing is to be requeued and nothing was.
func convertRequeueState(s lifecycle.State) *kueue.RequeueState {
	if s.RequeueAt.IsZero() && s.RequeueCount == 0 {
		return nil
	}
	state := &kueue.RequeueState{Count: nonZero(s.RequeueCount)}
	if !s.RequeueAt.IsZero() {
		state.RequeueAt = ptr.To(metav1.NewTime(s.RequeueAt))
	}
	return state
}

func convertEvictions(from []lifecycle.EvictionCount) []kueue.WorkloadSchedulingStatsEviction {
	var list []kueue.WorkloadSchedulingStatsEviction
	for _, e := range from {
		list = append(list, kueue.WorkloadSchedulingStatsEviction{Reason: e.Reason, UnderlyingCause: e.Cause, Count: e.Count})
	}
	return list
}

func seconds(d time.Duration) int32 { return int32(min(int64(d/time.Second), math.MaxInt32)) }

func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
