package fence

import "time"

// Reason says how a hub's lease stands. There are few of them, so that they can be a metric's label.
type Reason string

// The reasons. The zero Reason means that the fence has not looked yet.
const (
	// Holds: the lease was renewed in time.
	LeaseHolds Reason = "Holds"
	// Awaited: there is no lease, but the fence has not looked for long.
	LeaseAwaited Reason = "Awaited"
	// LeaseExpired: the worker's clock is past the end of the lease.
	LeaseExpired Reason = "RanOut"
	// LeaseNotRenewed: the worker's clock is not past the end, but the lease was not renewed for as long as it holds; so either
	// clock is wrong.
	LeaseNotRenewed Reason = "NotRenewed"
	// Missing: there is no lease, and never was one since the fence began.
	LeaseMissing Reason = "Missing"
)

// HubLost is the reason of DeactivationTarget on a Workload that was stopped because its hub's lease has run out, and of the
// event about it. The reason of its eviction is DeactivatedDueToHubLost.
const HubLost = "HubLost"

// Message tells people why the jobs of a hub are stopped; empty while its lease holds.
func (s State) Message(origin string) string {
	hub := `The hub "` + origin + `" `
	switch s.Reason {
	case LeaseExpired:
		return hub + "has not renewed its run lease, which ran out at " + s.expiredMessage()
	case LeaseNotRenewed:
		return hub + "has not renewed its run lease for " + s.Seen.duration().String() + ", though by this cluster's clock it lasts until " + s.expiredMessage()
	case LeaseMissing:
		return hub + "has no run lease in this cluster"
	case LeaseHolds, LeaseAwaited:
		return ""
	default:
		return ""
	}
}

func (s State) expiredMessage() string {
	return s.Seen.Renewed.Add(s.Seen.duration()).UTC().Format(time.RFC3339)
}
