package view

import (
	"slices"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// samePending tells whether the snapshot would learn nothing new. Pod sets that were computed once are compared by address
// first.
func samePending(a, b *admission.Workload) bool {
	return a.Key == b.Key && a.UID == b.UID && a.LocalQueue == b.LocalQueue && a.Queue == b.Queue && a.Priority == b.Priority &&
		a.QueuedAt.Equal(b.QueuedAt) && a.NotBefore.Equal(b.NotBefore) && sameBlock(a.Blocked, b.Blocked) &&
		slices.Equal(a.ClosedGates, b.ClosedGates) && a.Replaces == b.Replaces && samePodSets(a.PodSets, b.PodSets)
}

func sameBlock(a, b *admission.Block) bool { return a == b || a != nil && b != nil && *a == *b }

func samePodSets(a, b []admission.PodSet) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, samePodSet)
}

func samePodSet(a, b admission.PodSet) bool {
	return a.Name == b.Name && a.Group == b.Group && a.Count == b.Count && a.MinCount == b.MinCount &&
		slices.Equal[amount.Vector](a.Requests, b.Requests) && slices.Equal(a.Flavors, b.Flavors) && slices.Equal(a.NodeSelector, b.NodeSelector) &&
		slices.EqualFunc(a.Affinity, b.Affinity, sameTerm) && slices.Equal(a.Tolerations, b.Tolerations)
}

func sameTerm(a, b admission.Term) bool {
	return slices.EqualFunc(a, b, func(x, y admission.Requirement) bool {
		return x.Key == y.Key && x.Operator == y.Operator && slices.Equal(x.Values, y.Values)
	})
}

func sameReservation(a, b *admission.Reservation) bool {
	return a.Key == b.Key && a.UID == b.UID && a.LocalQueue == b.LocalQueue && a.Queue == b.Queue && a.Priority == b.Priority &&
		a.QueuedAt.Equal(b.QueuedAt) && a.ReservedAt.Equal(b.ReservedAt) && a.Evicted == b.Evicted && a.PodsReady == b.PodsReady &&
		a.Admitted == b.Admitted && a.Assumed == b.Assumed && slices.Equal(a.Usage, b.Usage)
}
