package controller

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/checkconfig"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// EffectiveRunPolicy returns the run policy of the Workloads of a ClusterQueue that are dispatched to the fleet of a config: the
// queue's own, else the fleet's, else Compatible. Either may be nil. The error says what to change.
func EffectiveRunPolicy(config *kueue.MultiKueueConfig, queue *kueue.ClusterQueue) (switchyard.RunPolicy, error) {
	if queue != nil {
		if policy, ok := queue.Annotations[switchyard.RunPolicyAnnotation]; ok {
			return parseRunPolicy(policy, "ClusterQueue", queue)
		}
	}
	if config != nil {
		if policy, ok := config.Annotations[switchyard.RunPolicyAnnotation]; ok {
			return parseRunPolicy(policy, checkconfig.ConfigKind, config)
		}
	}
	return switchyard.Compatible, nil
}

func parseRunPolicy(text, kind string, of client.Object) (switchyard.RunPolicy, error) {
	switch policy := switchyard.RunPolicy(text); policy {
	case switchyard.Compatible, switchyard.RunOnce, switchyard.NeverLose:
		return policy, nil
	}
	return "", fmt.Errorf("annotation %s of %s %s is %q: change it to %s, %s or %s, or remove it",
		switchyard.RunPolicyAnnotation, kind, of.GetName(), text, switchyard.Compatible, switchyard.RunOnce, switchyard.NeverLose)
}

// validateRunPolicies returns what to change if the config of a check, or a ClusterQueue that uses the check, asks for a run policy
// that there is not. A word that nobody knows is not guessed at.
func validateRunPolicies(ctx context.Context, c client.Reader, ac *kueue.AdmissionCheck, config *kueue.MultiKueueConfig) error {
	_, err := EffectiveRunPolicy(config, nil)
	if err != nil {
		return err
	}
	queues := &kueue.ClusterQueueList{}
	if err := c.List(ctx, queues, client.MatchingFields{byRunPolicy: anyRunPolicy}); err != nil {
		return fmt.Errorf("list ClusterQueues with a run policy: %w", err)
	}
	for i := range queues.Items {
		if slices.Contains(listAdmissionChecks(&queues.Items[i]), ac.Name) {
			if _, err := EffectiveRunPolicy(nil, &queues.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// listAdmissionChecks names the admission checks of a ClusterQueue.
func listAdmissionChecks(queue *kueue.ClusterQueue) []string {
	if queue.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	var names []string
	for _, rule := range queue.Spec.AdmissionChecksStrategy.AdmissionChecks {
		names = append(names, string(rule.Name))
	}
	return names
}

// defaultGrace is the termination grace of a pod that names none.
const defaultGrace = corev1.DefaultTerminationGracePeriodSeconds * time.Second

// maxGrace bounds what a pod may ask for: 68 years. Sums of a few such durations can still be told from none.
const maxGrace = math.MaxInt32

// killGrace is how long the pods of a Workload may take to stop: the longest termination grace among them. Kubernetes takes a
// negative one for a second.
func killGrace(wl *kueue.Workload) time.Duration {
	var longest time.Duration
	for i := range wl.Spec.PodSets {
		grace := ptr.Deref(wl.Spec.PodSets[i].Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
		if grace < 0 {
			grace = 1
		}
		longest = max(longest, time.Duration(min(grace, maxGrace))*time.Second)
	}
	if longest == 0 && len(wl.Spec.PodSets) == 0 {
		return defaultGrace
	}
	return longest
}

// resolvePolicy settles what the people who run the fleet and the queue want for a Workload.
func (r *WorkloadReconciler) resolvePolicy(ctx context.Context, s *workloadScope, config *kueue.MultiKueueConfig) {
	var queue *kueue.ClusterQueue
	if name := r.lookupClusterQueue(ctx, s.original.Workload); name != "" {
		found := &kueue.ClusterQueue{}
		if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, found, client.UnsafeDisableDeepCopy); err == nil {
			queue = found
		}
	}
	policy, err := EffectiveRunPolicy(config, queue)
	if err != nil || config == nil && !hasRunPolicy(queue) {
		policy = switchyard.NeverLose // what was meant is not known: run nothing twice and stop nothing until it is
	}
	s.policy = withRunPolicy(r.Policy, policy)
	if s.original.Job != nil {
		s.preferredClusters = listPreferredClusters(s.original.Job)
	}
	if s.preferredClusters == nil && queue != nil {
		s.preferredClusters = listPreferredClusters(queue)
	}
}

// lookupClusterQueue is the ClusterQueue that has given the Workload quota or, before and after that, the one that its LocalQueue points to:
// what runs is subject to a policy until it has ended, and that may be after the quota was released. Empty if there is none.
func (r *WorkloadReconciler) lookupClusterQueue(ctx context.Context, wl *kueue.Workload) string {
	if name := reservedClusterQueue(wl); name != "" {
		return name
	}
	local := &kueue.LocalQueue{}
	key := client.ObjectKey{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
	if err := r.Client.Get(ctx, key, local, client.UnsafeDisableDeepCopy); err != nil {
		return "" // nobody points anywhere
	}
	return string(local.Spec.ClusterQueue)
}

// orphanPolicy is the policy for what is left of Workloads that the hub does not have any more. Nobody knows what they were
// promised but by the stamps on what is left (mirror.Removal.Foreground).
func orphanPolicy(p dispatch.Policy) dispatch.Policy { return withRunPolicy(p, switchyard.NeverLose) }

// hasRunPolicy tells whether a ClusterQueue, which may be nil, has a run policy of its own.
func hasRunPolicy(queue *kueue.ClusterQueue) bool {
	if queue == nil {
		return false
	}
	_, ok := queue.Annotations[switchyard.RunPolicyAnnotation]
	return ok
}

// withRunPolicy is a policy with the rules about lost clusters and hubs that a preset stands for.
func withRunPolicy(p dispatch.Policy, preset switchyard.RunPolicy) dispatch.Policy {
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
