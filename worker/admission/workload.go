package admission

import (
	"time"

	"switchyard.dev/worker/admission/amount"
)

// Workload is what the core knows about a workload that waits for quota. The snapshot keeps it as given: callers must not
// change it, or the slices in it, after handing it over.
type Workload struct {
	Key
	// UID breaks the last tie of the order; it must differ between workloads.
	UID string
	// LocalQueue is the name of the LocalQueue in the workload's namespace.
	LocalQueue string
	// Queue is the ClusterQueue that the LocalQueue points to. It need not exist.
	Queue string
	// Priority is the effective priority: the class value plus the boost.
	Priority int32
	// QueuedAt is the queue-order timestamp (contract: kueue-api.md 4.2 row 4): creation, or the eviction that counts.
	QueuedAt time.Time
	// NotBefore keeps the workload out of the order until then (requeueAt). The zero time means there is no such bound.
	NotBefore time.Time
	// Blocked, when not nil, is reported instead of an evaluation.
	Blocked *Block
	// ClosedGates are the sorted names of the preemption gates that are closed: as long as there is one, the workload may not
	// evict others (contract: kueue-api.md 4.4).
	ClosedGates []string
	// Replaces, unless empty, is the workload of the same queue that this one takes over from when it is admitted: it needs only what it
	// asks for beyond what that one holds. As long as that one is told to stop, this one waits.
	Replaces Key
	// PodSets are in the order of the API object.
	PodSets []PodSet
}

// PodSet is a number of identical pods.
type PodSet struct {
	Name string
	// Group joins pod sets that must get the same flavors (topologyRequest.podSetGroupName); empty for none.
	Group string
	// Count is the number of pods that need quota: the spec's count less the reclaimable ones.
	Count int32
	// MinCount is the least number of pods that the workload can start with, in the terms of Count; 0 if it needs all. At most
	// one pod set has it (contract: kueue-api.md 4.9).
	MinCount int32
	// Requests is what one pod asks for. "pods" is not part of it.
	Requests amount.Vector
	// Flavors, sorted by resource, are those that the pods run in already: resources that are listed can have no other flavor.
	Flavors []ResourceFlavor
	// NodeSelector is the pod's node selector, sorted by key.
	NodeSelector []Label
	// Affinity is the required node affinity: terms of which one must hold. Empty means no demand.
	Affinity []Term
	// Tolerations are the pod's.
	Tolerations []Toleration
}

// Label is a label key and its value.
type Label struct {
	Key, Value string
}

// Term is a node selector term: all of its requirements must hold.
type Term []Requirement

// Requirement is one match expression on a node label.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string
}

// Operator relates a label to a requirement's values, as in a node selector term.
type Operator string

// The operators of node selector requirements.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
)

// Effect is what a taint does to pods that do not tolerate it.
type Effect string

// The effects of taints. Only NoSchedule and NoExecute keep a workload off a flavor.
const (
	NoSchedule       Effect = "NoSchedule"
	PreferNoSchedule Effect = "PreferNoSchedule"
	NoExecute        Effect = "NoExecute"
)

// Taint is a node taint.
type Taint struct {
	Key, Value string
	Effect     Effect
}

// TolerationOperator relates a toleration to a taint's value.
type TolerationOperator string

// The operators of tolerations. The empty operator means Equal.
const (
	TolerateEqual  TolerationOperator = "Equal"
	TolerateExists TolerationOperator = "Exists"
)

// Toleration is a pod's toleration. An empty Key with TolerateExists tolerates every taint; an empty Effect every effect.
type Toleration struct {
	Key      string
	Operator TolerationOperator
	Value    string
	Effect   Effect
}
