// Package runpolicy reads which run policy applies to a Workload: what a worker does without the hub, and the hub without a worker.
package runpolicy

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	// Index finds the ClusterQueues that have a run policy of their own, each by its value and under AnyValue.
	Index = "multikueue.runpolicy"
	// AnyValue is the value of all of them.
	AnyValue = "*"
)

// IndexValues returns the values of Index.
func IndexValues(cq *kueue.ClusterQueue) []string {
	if policy, ok := cq.Annotations[switchyard.RunPolicyAnnotation]; ok {
		return []string{policy, AnyValue}
	}
	return nil
}

// Effective returns the run policy of the Workloads of a ClusterQueue that are dispatched to the fleet of a config: the
// queue's own, else the fleet's, else Compatible. Either may be nil. The error says what to change.
func Effective(config *kueue.MultiKueueConfig, queue *kueue.ClusterQueue) (switchyard.RunPolicy, error) {
	if queue != nil {
		if policy, ok := queue.Annotations[switchyard.RunPolicyAnnotation]; ok {
			return parse(policy, "ClusterQueue", queue)
		}
	}
	if config != nil {
		if policy, ok := config.Annotations[switchyard.RunPolicyAnnotation]; ok {
			return parse(policy, checkconfig.ConfigKind, config)
		}
	}
	return switchyard.Compatible, nil
}

func parse(text, kind string, of client.Object) (switchyard.RunPolicy, error) {
	switch policy := switchyard.RunPolicy(text); policy {
	case switchyard.Compatible, switchyard.RunOnce, switchyard.NeverLose:
		return policy, nil
	}
	return "", fmt.Errorf("annotation %s of %s %s is %q: change it to %s, %s or %s, or remove it",
		switchyard.RunPolicyAnnotation, kind, of.GetName(), text, switchyard.Compatible, switchyard.RunOnce, switchyard.NeverLose)
}

// Validate returns what to change if the config of a check, or a ClusterQueue that uses the check, asks for an unknown run
// policy. An unknown value is not guessed at.
func Validate(ctx context.Context, c client.Reader, ac *kueue.AdmissionCheck, config *kueue.MultiKueueConfig) error {
	_, err := Effective(config, nil)
	if err != nil {
		return err
	}
	queues := &kueue.ClusterQueueList{}
	if err := c.List(ctx, queues, client.MatchingFields{Index: AnyValue}); err != nil {
		return fmt.Errorf("list ClusterQueues with a run policy: %w", err)
	}
	for i := range queues.Items {
		if slices.Contains(checkconfig.ListChecks(&queues.Items[i]), ac.Name) {
			if _, err := Effective(nil, &queues.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// ForOrphans returns the policy for what is left of Workloads that the hub no longer has. Only the stamps on what is left say
// what they were promised (mirror.Removal.Foreground).
func ForOrphans(p dispatch.Policy) dispatch.Policy { return Apply(p, switchyard.NeverLose) }

// IsSet tells whether a ClusterQueue, which may be nil, has a run policy of its own.
func IsSet(queue *kueue.ClusterQueue) bool {
	if queue == nil {
		return false
	}
	_, ok := queue.Annotations[switchyard.RunPolicyAnnotation]
	return ok
}

// Apply is a policy with the rules about lost clusters and hubs that a preset stands for.
func Apply(p dispatch.Policy, preset switchyard.RunPolicy) dispatch.Policy {
	p.OnHubLost, p.OnWorkerLost = dispatch.KeepRunning, dispatch.Redispatch
	switch preset {
	case switchyard.Compatible:
	case switchyard.RunOnce:
		p.OnHubLost = dispatch.Stop
	case switchyard.NeverLose:
		p.OnWorkerLost = dispatch.Hold
	}
	return p
}

// ForbidsOverlap tells whether a policy promises that two runs never overlap.
func ForbidsOverlap(p dispatch.Policy) bool {
	return p.OnHubLost == dispatch.Stop || p.OnWorkerLost == dispatch.Hold
}
