package lifecycle

// Verdict is what all gates of a workload say together.
type Verdict int

// The verdicts, weakest first: any Reject beats any Retry beats any Wait beats Admit.
const (
	// Admit: quota is reserved and every gate is open.
	Admit Verdict = iota
	// Wait: some gate has not answered yet, or there is no reservation.
	Wait
	// Retry: some gate wants the workload to give back its quota and try again.
	Retry
	// Reject: some gate never wants to see the workload again.
	Reject
)

// Merge returns the verdict of all gates of the state. It is total: a check state that nobody knows waits.
func Merge(s State) Verdict {
	verdict := Admit
	if s.Reservation == nil || s.Reservation.DelayedTopology {
		verdict = Wait
	}
	for _, c := range s.Checks {
		verdict = max(verdict, c.verdict())
	}
	return verdict
}

func (c Check) verdict() Verdict {
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

// checksReady tells whether no check stands in the way. A workload without checks is ready.
func (s State) checksReady() bool {
	for _, c := range s.Checks {
		if c.State != CheckReady {
			return false
		}
	}
	return true
}
