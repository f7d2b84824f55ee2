package resourcequota

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"switchyard.dev/admissioncheck/resourcequota/quotafit"
	"switchyard.dev/admissioncheck/runner"
	"switchyard.dev/apis/config/features"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

const (
	// ControllerName is the spec.controllerName of AdmissionChecks that are answered here. They take no parameters.
	ControllerName = "switchyard.dev/resourcequota"

	// ClaimLabel on a pod is the UID of the Workload on whose behalf the check let it pass. It is how pods that exist are told
	// from those still to come, and is put on pods by way of the check's podSetUpdates.
	ClaimLabel = "switchyard.dev/quota-claim"
)

// policy: five seconds are longer than a cluster takes to count down a quota after a pod's end, and short enough to hold
// a ClusterQueue's quota for nothing.
var policy = quotafit.Policy{GracePeriod: 5 * time.Second, BaseDelay: 10 * time.Second, MaxDelay: 5 * time.Minute}

// Setup adds the check to a manager. Its controllers begin when the first AdmissionCheck of theirs is seen: until then it
// costs neither an index nor a look at a Workload.
func Setup(ctx context.Context, mgr ctrl.Manager, gates features.Set) error {
	seen, err := watchFirstCheck(ctx, mgr.GetCache())
	if err != nil {
		return fmt.Errorf("set up the resourcequota check: %w", err)
	}
	resolver := Resolver(ReaderFor(mgr, gates))
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return runWhenClosed(ctx, seen, func(ctx context.Context) error {
			if err := runner.Setup(ctx, mgr, resolver); err != nil {
				return fmt.Errorf("begin the resourcequota check: %w", err)
			}
			return nil
		})
	}))
}

// ReaderFor reads by way of a manager, as the gates ask.
func ReaderFor(mgr interface {
	GetClient() client.Client
	GetAPIReader() client.Reader
}, gates features.Set) Reader {
	return Reader{Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), WithoutReclaimablePods: !gates.Enabled(features.ReclaimablePods)}
}

// Resolver is the check as the runner needs it.
func Resolver(r Reader) runner.Resolver[Observed] {
	return runner.Resolver[Observed]{
		Controller: ControllerName, Name: "resourcequota",
		Observe: r.observe, Resolve: decideCheck, Validate: validateCheck, RecheckOn: []client.Object{&corev1.ResourceQuota{}},
	}
}

// validateCheck refuses parameters: they would have no effect.
func validateCheck(check *kueue.AdmissionCheck) *runner.CheckFault {
	if check.Spec.Parameters == nil {
		return nil
	}
	return &runner.CheckFault{Reason: kueue.ReasonBadParametersRef, Message: "This kind of check takes no parameters"}
}

// decideCheck turns room's answer into the entry's.
func decideCheck(o Observed) runner.CheckResult {
	a := quotafit.Decide(o.Observation, policy)
	answer := runner.CheckResult{Message: a.Message(), RequeueAfter: a.RequeueAfter, RecheckAt: a.RecheckAt}
	switch a.State {
	case quotafit.Pending:
		answer.State = kueue.CheckStatePending
	case quotafit.Retry:
		answer.State = kueue.CheckStateRetry
	case quotafit.Ready:
		answer.State, answer.PodSetUpdates = kueue.CheckStateReady, o.podSetUpdates
	}
	return answer
}
