package fence

import (
	"cmp"
	"math"
	"time"
)

// Reaction is what a job waits for its own controller, and then its nodes, to do. What the fence suspends has stopped only when
// they have.
type Reaction string

// The reactions. The zero Reaction means that nothing is waited for.
const (
	// Noticed: the status shows that the job's controller knows whether the job may run.
	ControllerObserves Reaction = "Noticed"
	// Told: the job is suspended, and its controller has told its pods to end.
	PodsTold Reaction = "Told"
	// Ended: the pods that were told to end are gone.
	PodsEnd Reaction = "Ended"
	// Released: the Workload was evicted or deleted, and its job has stopped, so that the quota is free.
	QuotaReleased Reaction = "Released"
)

const (
	// stopLimit is how long a controller that works may take to tell the pods of a suspended job to end, and answersWithin how
	// long it, or a node, may take for anything else.
	stopLimit, reactionLimit = 30 * time.Second, 60 * time.Second
	// settledUptime is the uptime from which a fence knows by itself what the one before it has held against the promise: longer than
	// answersWithin, and the time between two looks.
	settledUptime = 90 * time.Second
	// maxGracePeriod bounds the termination grace that is believed: sums of it do not overflow.
	maxGracePeriod = math.MaxInt32 * time.Second
)

// WaitID identifies a wait.
type WaitID struct {
	// Kind is the job's, as "Kind.group".
	Kind, Namespace, Name, UID string
	For                        Reaction
}

func (id WaitID) compare(other WaitID) int {
	return cmp.Or(cmp.Compare(id.Kind, other.Kind), cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name),
		cmp.Compare(id.UID, other.UID), cmp.Compare(id.For, other.For))
}

// Wait is one job that waits.
type Wait struct {
	WaitID
	// Grace is the longest termination grace of the job's pods.
	Grace time.Duration
	// Age is for how long it has been waiting, if the API tells; else zero, and it counts from when it was first seen.
	Age time.Duration
}

// limit is how long the wait may last before the promise is broken. Pods that are told to end have their grace; that the
// controller tells them does not depend on it.
func (w Wait) limit() time.Duration {
	switch w.For {
	case PodsTold:
		return stopLimit
	case PodsEnd, QuotaReleased:
		return min(max(w.Grace, 0), maxGracePeriod) + reactionLimit
	case ControllerObserves:
		return reactionLimit
	default:
		return reactionLimit
	}
}

// message say what is wrong with a job that has waited for too long.
func (id WaitID) message() string {
	job := id.Kind + " " + id.Namespace + "/" + id.Name
	switch id.For {
	case PodsTold:
		return job + " is suspended and keeps active pods: its controller does not act"
	case PodsEnd:
		return job + " was told to end and keeps pods past their termination grace"
	case QuotaReleased:
		return job + " was evicted and does not stop"
	case ControllerObserves:
		return "the controller of " + job + " does not act: the status does not follow the spec"
	default:
		return job + " is waited for"
	}
}
