package runner

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// CheckScope is one Workload with quota, and one check that it waits for or has passed. Nothing in it may be changed.
type CheckScope struct {
	// Workload as last seen; it holds quota, and is neither finished nor evicted.
	Workload *kueue.Workload
	Check    *kueue.AdmissionCheck
	// Entry of the check in the Workload's status: Pending or Ready.
	Entry kueue.AdmissionCheckState
	Now   time.Time
	// ListPassed lists the other Workloads of the namespace that hold quota and that a check of the same controller has let
	// pass, sorted by name. What the runner has written itself is in it even if the cache does not show it yet.
	ListPassed func(context.Context) ([]*kueue.Workload, error)
}

// CheckResult is what becomes of the entry.
type CheckResult struct {
	// State of the entry. Pending leaves the entry as it is: an answer that is still sought costs no write.
	State kueue.CheckState
	// Message for people, at most 32 KiB; the rest is cut.
	Message string
	// RequeueAfter is, with Retry, how long the Workload waits before it queues again, in whole seconds, rounded up.
	RequeueAfter time.Duration
	// PodSetUpdates are, with Ready, merged into the pods when the job starts. They cannot change while Ready.
	PodSetUpdates []kueue.PodSetUpdate
	// RecheckAt is when to ask again although nothing is known to change; zero for never.
	RecheckAt time.Time
}

// Resolver decides about Workloads. Subjects come one at a time, so an answer may rest on the answers before.
type Resolver[O any] struct {
	// Controller is the spec.controllerName of the AdmissionChecks.
	Controller string
	// Name is a word for logs and metrics of the controllers, such as "resourcequota".
	Name string
	// Observe reads what the decision needs. It is asked about passed entries too.
	Observe func(context.Context, CheckScope) (O, error)
	// Resolve decides. It is pure: the same observation has the same answer.
	Resolve func(O) CheckResult
	// Validate says what is wrong with an AdmissionCheck; nil if it can be used as it is.
	Validate func(*kueue.AdmissionCheck) *CheckFault
	// RecheckOn are namespaced objects, each an empty one of its type, whose changes make the runner ask again about the
	// pending Workloads of their namespace. They are watched from when the first AdmissionCheck of the controller is seen.
	RecheckOn []client.Object
}

// CheckFault is what is wrong with an AdmissionCheck, as its condition says it.
type CheckFault struct {
	Reason  kueue.Reason
	Message string
}
