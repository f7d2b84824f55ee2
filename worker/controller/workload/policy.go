package workload

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
)

// PolicyFor reads from a configuration with defaults what concerns the life of Workloads (contract: kueue-api.md 4.15, 4.16,
// 7: waitForPodsReady, objectRetentionPolicies; gates DisableWaitForPodsReady, FinishOrphanedWorkloads).
func PolicyFor(cfg *configapi.Configuration, gates features.Set) lifecycle.Policy {
	policy := lifecycle.Policy{
		OwnerGracePeriod: ownerGrace,
		FinishOrphans:    gates.Enabled(features.FinishOrphanedWorkloads),
		CoarseReasons:    !gates.Enabled(features.UnadmittedWorkloadsObservability),
		ExplicitStatus:   gates.Enabled(features.UnadmittedWorkloadsObservability) && gates.Enabled(features.UnadmittedWorkloadsExplicitStatus),
	}
	if wait := cfg.WaitForPodsReady; wait != nil && !wait.Disabled && !gates.Enabled(features.DisableWaitForPodsReady) {
		policy.PodsReady = podsReadyPolicy(wait)
	}
	if cfg.ObjectRetentionPolicies != nil && cfg.ObjectRetentionPolicies.Workloads != nil {
		keep := cfg.ObjectRetentionPolicies.Workloads
		policy.FinishedRetention, policy.DeactivatedRetention = toDuration(keep.AfterFinished), toDuration(keep.AfterDeactivatedByKueue)
	}
	return policy
}

// ownerGrace is how long clients that play the owner of a Workload have for what an owner does. Theirs are programs: seconds.
const ownerGrace = 5 * time.Second

// podsReadyPolicy is the configuration of waitForPodsReady as rules of the lifecycle.
func podsReadyPolicy(wait *configapi.WaitForPodsReady) *lifecycle.PodsReadyPolicy {
	requeue := wait.RequeuingStrategy
	return &lifecycle.PodsReadyPolicy{
		Timeout: wait.Timeout.Duration, RecoveryTimeout: wait.RecoveryTimeout.Duration,
		BackoffBase: toSeconds(requeue.BackoffBaseSeconds), BackoffMax: toSeconds(requeue.BackoffMaxSeconds),
		RequeueLimit: requeue.BackoffLimitCount,
	}
}

func toSeconds(n *int32) time.Duration { return time.Duration(ptr.Deref(n, 0)) * time.Second }

func toDuration(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}
