package fleet

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Action is one thing to do on one cluster for one Workload.
type Action struct {
	// ID names the effect. Two actions for one Workload and cluster with equal IDs have the same effect, so the second
	// need not run while the first is waiting, running, or has succeeded and is not yet seen in the informers.
	ID string
	// CoveredIDs are the IDs of what else is done when this action has succeeded: they are not begun for as long either.
	CoveredIDs []string
	// CreatesObjects says that the action makes objects, and so may be wanted again as soon as one is seen to go.
	CreatesObjects bool
	// ReadOnly says that the action changes nothing and returns evidence; see Answer.Value.
	ReadOnly bool
	// Run does it, within the context's deadline, and returns what it learned. It must be safe to repeat.
	Run func(context.Context, client.Client) (any, error)
}

// ActionResult is what came of the last run of an action.
type ActionResult struct {
	// ID of the action.
	ID string
	// Value is what a reading action returned. It was read after every earlier action for the Workload on that cluster had
	// ended, and it is dropped when a later one starts, when the informers deliver something about the Workload, and when
	// the connection is lost.
	Value any
	// Err is why the action failed, or nil.
	Err error
	// Failures in a row.
	Failures int
	// RetryAt is when a failed action is tried again, as long as it is still wanted.
	RetryAt time.Time
}
