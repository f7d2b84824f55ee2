package dispatch

import "time"

// Policy holds the operator's choices.
type Policy struct {
	// WorkerLostTimeout is the grace of a cluster that cannot be reached: how long a bound one keeps its Workload, and
	// an owing one blocks the next job.
	WorkerLostTimeout time.Duration
	// Dispatcher says who fills Nominated.
	Dispatcher Dispatcher
	// StepSize is how many clusters the incremental dispatcher nominates in a round, at least 1, and RoundTimeout how long
	// they have to admit before the next. ByName makes it go by the clusters' names instead of the config's order.
	StepSize     int
	RoundTimeout time.Duration
	ByName       bool
	// OnWorkerLost says what happens when the grace of a bound cluster is over.
	OnWorkerLost OnWorkerLost
	// CutOffWindow is how close in time losses must be to count as one (see CutOff).
	CutOffWindow time.Duration
	// ExplainAfter is how long a Workload waits before the check's message says why, cluster by cluster; the happy path
	// is over by then and costs no write for it. Zero means never.
	ExplainAfter time.Duration
}

// Dispatcher says who nominates clusters.
type Dispatcher string

// The dispatchers (contract: multikueue.md 7).
const (
	// AllAtOnce nominates every connected cluster.
	AllAtOnce Dispatcher = "AllAtOnce"
	// Incremental nominates some clusters after others.
	Incremental Dispatcher = "Incremental"
	// External leaves nomination to another controller: Nominated is only read.
	External Dispatcher = "External"
)

// OnWorkerLost says what happens when the grace of a bound, unreachable cluster is over.
type OnWorkerLost string

// The choices.
const (
	// Redispatch retries elsewhere; the job may run twice if the lost cluster still runs it.
	Redispatch OnWorkerLost = "Redispatch"
	// Hold waits for the cluster, however long.
	Hold OnWorkerLost = "Hold"
)

// Compatible is the policy that clients of the public API expect: everything is offered everywhere at once, and a lost
// worker's Workload is dispatched again after the timeout.
func Compatible(workerLostTimeout time.Duration) Policy {
	return Policy{
		WorkerLostTimeout: workerLostTimeout,
		Dispatcher:        AllAtOnce,
		StepSize:          3,
		RoundTimeout:      5 * time.Minute,
		OnWorkerLost:      Redispatch,
		CutOffWindow:      time.Minute,
		ExplainAfter:      5 * time.Second,
	}
}
