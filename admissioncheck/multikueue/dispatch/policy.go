package dispatch

import "time"

// Policy holds the operator's choices. The zero value of every field means what the public contract says, or "never".
type Policy struct {
	// WorkerLostTimeout is the grace of a cluster that cannot be reached: how long a bound one keeps its Workload, and
	// an owing one blocks the next job.
	WorkerLostTimeout time.Duration
	// OnWorkerLost says what happens when the grace of a bound cluster is over; OnHubLost what the workers do with the
	// jobs when they miss the hub, which is stamped on every copy and job.
	OnWorkerLost OnWorkerLost
	OnHubLost    OnHubLost
	// LeaseDuration is how long a renewal of the run lease lets the workers go on. SkewMargin bounds, in sum, how much the
	// clocks differ and how long a worker's program may take to act on a lease that has run out, a restart of it included.
	LeaseDuration, SkewMargin time.Duration
	// Dispatcher says how Nominated is filled.
	Dispatcher Dispatcher
	// StepSize is how many clusters the incremental dispatcher nominates in a round, at least 1, and RoundTimeout how long
	// they have to admit before the next. ByName makes it go by the clusters' names instead of the config's order.
	StepSize     int
	RoundTimeout time.Duration
	ByName       bool
	// HedgeAfter is how long BestFit gives the best cluster to admit before it offers to the next one as well. The time
	// doubles with each further cluster, up to RoundTimeout (if that is set). Zero: only refusals and losses bring another.
	// It is also how long a copy that would have to preempt waits for one elsewhere that would not.
	HedgeAfter time.Duration
	// OrchestratePreemption makes the copies with a closed preemption gate, of which one at a time is opened.
	OrchestratePreemption bool
	// SyncSpec lets jobs on other clusters follow what may change of the hub's while they run (gate MultiKueueRemoteSpecSync).
	SyncSpec bool
	// GateTimeout is how long an opened gate has to bring an admission before the next is opened; zero means five minutes.
	GateTimeout time.Duration
	// RetainFinished is how long what a finished Workload has left on the cluster that ran it stays there; zero removes it at once.
	RetainFinished time.Duration
	// CutOffWindow is how close in time losses must be to count as one (see CutOff).
	CutOffWindow time.Duration
	// ExplainAfter is how long a Workload waits before the check's message says why, cluster by cluster; the happy path
	// is over by then and costs no write for it. Zero means never.
	ExplainAfter time.Duration
}

// Dispatcher says what nominates clusters.
type Dispatcher string

// The dispatchers (contract: multikueue.md 7).
const (
	// AllAtOnce nominates every connected cluster.
	AllAtOnce Dispatcher = "AllAtOnce"
	// Incremental nominates some clusters after others.
	Incremental Dispatcher = "Incremental"
	// BestFit nominates the cluster that fits best, and the next best when that one does not admit.
	BestFit Dispatcher = "BestFit"
	// External leaves nomination to another controller: Nominated is only read.
	External Dispatcher = "External"
)

// OnWorkerLost says what happens when the grace of a bound, unreachable cluster is over.
type OnWorkerLost string

// The choices.
const (
	// Redispatch retries elsewhere. If the workers keep jobs running without the hub, the job may run twice.
	Redispatch OnWorkerLost = "Redispatch"
	// Hold waits for the cluster, however long, or for a person that declares it gone.
	Hold OnWorkerLost = "Hold"
)

// OnHubLost says what a worker does with a job whose hub it misses.
type OnHubLost string

// The choices. The zero value is KeepRunning.
const (
	// KeepRunning leaves it alone.
	KeepRunning OnHubLost = "KeepRunning"
	// Stop ends it when the hub's run lease has run out, so that it can be run elsewhere without running twice.
	Stop OnHubLost = "Stop"
)

// Compatible is the policy that clients of the public API expect: everything is offered everywhere at once, and a lost
// worker's Workload is dispatched again after the timeout. Runs may overlap when a worker is only out of reach.
func Compatible(workerLostTimeout time.Duration) Policy {
	return Policy{
		WorkerLostTimeout: workerLostTimeout,
		Dispatcher:        AllAtOnce,
		StepSize:          3,
		RoundTimeout:      5 * time.Minute,
		OnWorkerLost:      Redispatch,
		OnHubLost:         KeepRunning,
		CutOffWindow:      time.Minute,
		ExplainAfter:      5 * time.Second,
	}
}

// RunOnce is Compatible, except that workers stop what the hub does not renew the lease of, and that a lost worker's
// Workload is dispatched again only when its job must have been stopped. Where nothing can see to that, it is held.
func RunOnce(workerLostTimeout, leaseDuration, skewMargin time.Duration) Policy {
	p := Compatible(workerLostTimeout)
	p.OnHubLost, p.LeaseDuration, p.SkewMargin = Stop, leaseDuration, skewMargin
	return p
}

// NeverLose is Compatible, except that a lost worker's Workload waits for the worker, or for a person that declares it gone.
func NeverLose(workerLostTimeout time.Duration) Policy {
	p := Compatible(workerLostTimeout)
	p.OnWorkerLost = Hold
	return p
}

// Name is what the policy's rules about lost clusters are called in messages.
func (p Policy) Name() string {
	switch {
	case p.OnHubLost == Stop && p.OnWorkerLost == Hold:
		return "stop and hold"
	case p.OnHubLost == Stop:
		return "run once"
	case p.OnWorkerLost == Hold:
		return "never lose"
	}
	return "compatible"
}

// gateTimeout returns GateTimeout, or its default.
func (p Policy) gateTimeout() time.Duration {
	if p.GateTimeout > 0 {
		return p.GateTimeout
	}
	return defaultGateTimeout
}

// forbidsOverlap reports whether the policy promises that two runs never overlap.
func (p Policy) forbidsOverlap() bool {
	return p.OnHubLost == Stop || p.OnWorkerLost == Hold
}

// awaitsLease reports whether a cluster's fence might stop what is offered, for all that is known yet. Nothing new is offered
// then; what was offered before stays.
func (p Policy) awaitsLease(v ClusterView) bool {
	return p.OnHubLost == Stop && v.Fence.Lease == LeaseAwaited
}
