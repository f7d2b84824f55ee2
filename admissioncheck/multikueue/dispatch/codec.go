package dispatch

// ConditionType is the type of the one condition on the hub's Workload that stores what the public API has no word for.
const ConditionType = "switchyard.dev/Dispatch"

// EpochAnnotation stamps remote Workloads and jobs with the epoch they were made in, in decimal.
const EpochAnnotation = "switchyard.dev/epoch"

// Record is the content of the condition of type ConditionType.
type Record struct {
	// Owed is the condition's status: whether there are debts.
	Owed bool
	// ObservedGeneration is the epoch.
	ObservedGeneration int64
	Reason             string
	Message            string
}
