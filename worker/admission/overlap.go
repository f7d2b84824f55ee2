package admission

// Overlap is what became of a preemptor some of whose victims an earlier one of the same cycle had chosen already (contract:
// kueue-api.md 4.4).
type Overlap struct {
	Workload Key
	Queue    string
	// Recomputed is whether other victims were looked for.
	Recomputed bool
	// Found is whether that helped: the workload fits or has victims of its own. If not, it was skipped.
	Found bool
}
