package statefulset

import (
	"time"

	"switchyard.dev/worker/kube"
)

// Facts is all that decides what to do about the Workload of a set.
type Facts struct {
	Now time.Time
	// Leftovers tells that there are Workloads, of this set or an earlier one of its name, that only our finalizer keeps.
	Leftovers bool
	// Managed tells that the set is there and its pods wait because of us.
	Managed bool
	// Copy tells that a hub made the set, and makes its Workload.
	Copy bool
	// CacheBehind tells that the cache shows the Workload as it was before our own last write.
	CacheBehind bool
	// ClassMissing tells that the set names a priority class that does not exist, so that it is not known what its Workload should say.
	ClassMissing bool
	// Replicas is how many pods the set asks for.
	Replicas int32
	// PodsUse tells that pods of the set use quota; PodsExist, that some do or wait to.
	PodsUse, PodsExist bool

	// Exists tells that the set has a Workload; without it the rest is false.
	Exists bool
	// The Workload's life.
	Deleting, Finished, Active, Reserved, OnHold bool
	// Outdated tells that the Workload does not say what it should by now; Refused, that it has ended without asking for what the set
	// asks for.
	Outdated, Refused bool
}

// Do is the one thing to do about the Workload.
type Do int

const (
	// DoNothing leaves it.
	DoNothing Do = iota
	// DoLetGo removes our finalizer from leftovers.
	DoLetGo
	// DoCreate makes it.
	DoCreate
	// DoUpdate makes it say what it should.
	DoUpdate
	// DoHold takes what it holds and keeps it out of the queue.
	DoHold
	// DoResume lets it queue again.
	DoResume
	// DoDelete deletes it, so that a new one can be made.
	DoDelete
)

// Reason says why.
type Reason string

// Reasons, of which those to do nothing come first.
const (
	Unmanaged        Reason = "Unmanaged"
	MadeByHub        Reason = "MadeByHub"
	CatchingUp       Reason = "CatchingUp"
	ScaledToZero     Reason = "ScaledToZero"
	ScalingDown      Reason = "ScalingDown"
	AwaitingDeletion Reason = "AwaitingDeletion"
	Ended            Reason = "Ended"
	ClassMissing     Reason = "ClassMissing"
	InStep           Reason = "InStep"

	NoPodsLeft Reason = "NoPodsLeft"
	NoWorkload Reason = "NoWorkload"
	Outdated   Reason = "Outdated"
	ScaledUp   Reason = "ScaledUp"
)

// Plan is what to do about the Workload, and why.
type Plan struct {
	Do     Do
	Reason Reason
	// RequeueAt is when to look again though nothing changed; zero for never.
	RequeueAt time.Time
}

// Step decides what to do about the Workload of a set. It is total.
func Step(f Facts) Plan {
	switch {
	case f.Leftovers:
		return Plan{Do: DoLetGo, Reason: NoPodsLeft}
	case !f.Managed:
		return Plan{Reason: Unmanaged}
	case f.Copy:
		return Plan{Reason: MadeByHub}
	case f.CacheBehind:
		return Plan{Reason: CatchingUp, RequeueAt: f.Now.Add(kube.MaxCacheLag)}
	case !f.Exists && f.Replicas == 0:
		return Plan{Reason: ScaledToZero}
	case !f.Exists && f.ClassMissing:
		return Plan{Reason: ClassMissing}
	case !f.Exists:
		return Plan{Do: DoCreate, Reason: NoWorkload}
	case f.Deleting:
		return Plan{Reason: AwaitingDeletion}
	case f.Finished:
		return stepFinished(f)
	case f.Replicas == 0:
		return stepDown(f)
	default:
		return stepUp(f)
	}
}

// stepFinished makes room for a new Workload where the set is started anew, or asks for something else by now.
func stepFinished(f Facts) Plan {
	again := f.Replicas == 0 && !f.PodsExist || f.Refused
	if again && !f.PodsUse {
		return Plan{Do: DoDelete, Reason: Ended}
	}
	return Plan{Reason: Ended}
}

// stepDown puts the Workload on hold once no pod is left. One that is not active waits already.
func stepDown(f Facts) Plan {
	switch {
	case f.PodsExist:
		return Plan{Reason: ScalingDown}
	case !f.OnHold && (f.Active || f.Reserved):
		return Plan{Do: DoHold, Reason: ScaledToZero}
	case f.Outdated:
		return Plan{Do: DoUpdate, Reason: Outdated}
	default:
		return Plan{Reason: ScaledToZero}
	}
}

// stepUp lets the Workload queue once it asks for what the set asks for.
func stepUp(f Facts) Plan {
	switch {
	case f.ClassMissing:
		return Plan{Reason: ClassMissing}
	case f.Outdated:
		return Plan{Do: DoUpdate, Reason: Outdated}
	case f.OnHold:
		return Plan{Do: DoResume, Reason: ScaledUp}
	default:
		return Plan{Reason: InStep}
	}
}
