package lifecycle

// CheckResult is what all gates of a workload say together.
type CheckResult int

// The results, weakest first: any Reject beats any Retry beats any Wait beats Admit.
const (
	// Admit: quota is reserved and every gate is open.
	Admit CheckResult = iota
	// Wait: some gate has not answered yet, or there is no reservation.
	Wait
	// Retry: some gate wants the workload to give back its quota and try again.
	Retry
	// Reject: some gate never wants to see the workload again.
	Reject
)

// MergeChecks returns the result of all admission checks of the state. It is total: an unknown check state counts as waiting.
func MergeChecks(s State) CheckResult {
	verdict := Admit
	if s.Reservation == nil || s.Reservation.DelayedTopology {
		verdict = Wait
	}
	for _, c := range s.Checks {
		verdict = max(verdict, c.result())
	}
	return verdict
}

// result returns what one check says of the workload.
func (c Check) result() CheckResult {
	switch c.State {
	case CheckReady:
		return Admit
	case CheckRetry:
		return Retry
	case CheckRejected:
		return Reject
	case CheckPending:
		return Wait
	default:
		return Wait
	}
}

// areChecksReady tells whether no check stands in the way. A workload without checks is ready.
func (s State) areChecksReady() bool {
	for _, c := range s.Checks {
		if c.State != CheckReady {
			return false
		}
	}
	return true
}
