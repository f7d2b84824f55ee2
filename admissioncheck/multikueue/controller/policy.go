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

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// PolicyOf returns the run policy of the Workloads of a ClusterQueue that are dispatched to the fleet of a config: the
// queue's own, else the fleet's, else Compatible. Either may be nil. The error says what to change.
func PolicyOf(config *kueue.MultiKueueConfig, queue *kueue.ClusterQueue) (switchyard.RunPolicy, error) {
	if queue != nil {
		if policy, ok := queue.Annotations[switchyard.RunPolicyAnnotation]; ok {
			return knownPolicy(policy, "ClusterQueue", queue)
		}
	}
	if config != nil {
		if policy, ok := config.Annotations[switchyard.RunPolicyAnnotation]; ok {
			return knownPolicy(policy, configKind, config)
		}
	}
	return switchyard.Compatible, nil
}

func knownPolicy(text, kind string, of client.Object) (switchyard.RunPolicy, error) {
	switch policy := switchyard.RunPolicy(text); policy {
	case switchyard.Compatible, switchyard.RunOnce, switchyard.NeverLose:
		return policy, nil
	}
	return "", fmt.Errorf("annotation %s of %s %s is %q: change it to %s, %s or %s, or remove it",
		switchyard.RunPolicyAnnotation, kind, of.GetName(), text, switchyard.Compatible, switchyard.RunOnce, switchyard.NeverLose)
}

// runPolicies returns what to change if the config of a check, or a ClusterQueue that uses the check, asks for a run policy
// that there is not. A word that nobody knows is not guessed at.
func runPolicies(ctx context.Context, c client.Reader, ac *kueue.AdmissionCheck, config *kueue.MultiKueueConfig) error {
	_, err := PolicyOf(config, nil)
	if err != nil {
		return err
	}
	queues := &kueue.ClusterQueueList{}
	if err := c.List(ctx, queues, client.MatchingFields{byRunPolicy: anyPolicy}); err != nil {
		return fmt.Errorf("list ClusterQueues with a run policy: %w", err)
	}
	for i := range queues.Items {
		if slices.Contains(checksOf(&queues.Items[i]), ac.Name) {
			if _, err := PolicyOf(nil, &queues.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checksOf names the admission checks of a ClusterQueue.
func checksOf(queue *kueue.ClusterQueue) []string {
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

// longestGrace bounds what a pod may ask for: 68 years. Sums of a few such durations can still be told from none.
const longestGrace = math.MaxInt32

// killGrace is how long the pods of a Workload may take to stop: the longest termination grace among them. Kubernetes takes a
// negative one for a second.
func killGrace(wl *kueue.Workload) time.Duration {
	var longest time.Duration
	for i := range wl.Spec.PodSets {
		grace := ptr.Deref(wl.Spec.PodSets[i].Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
		if grace < 0 {
			grace = 1
		}
		longest = max(longest, time.Duration(min(grace, longestGrace))*time.Second)
	}
	if longest == 0 && len(wl.Spec.PodSets) == 0 {
		return defaultGrace
	}
	return longest
}

// choose settles what the people who run the fleet and the queue want for a Workload.
func (r *Resolver) choose(ctx context.Context, s *subject, config *kueue.MultiKueueConfig) {
	var queue *kueue.ClusterQueue
	if name := r.queueOf(ctx, s.original.Workload); name != "" {
		found := &kueue.ClusterQueue{}
		if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, found, client.UnsafeDisableDeepCopy); err == nil {
			queue = found
		}
	}
	policy, err := PolicyOf(config, queue)
	if err != nil || config == nil && !hasPolicy(queue) {
		policy = switchyard.NeverLose // what was meant is not known: run nothing twice and stop nothing until it is
	}
	s.policy = under(r.Policy, policy)
	if s.original.Job != nil {
		s.prefers = preferred(s.original.Job)
	}
	if s.prefers == nil && queue != nil {
		s.prefers = preferred(queue)
	}
}

// queueOf is the ClusterQueue that has given the Workload quota or, before and after that, the one that its LocalQueue points to:
// what runs is subject to a policy until it has ended, and that may be after the quota was released. Empty if there is none.
func (r *Resolver) queueOf(ctx context.Context, wl *kueue.Workload) string {
	if name := clusterQueueOf(wl); name != "" {
		return name
	}
	local := &kueue.LocalQueue{}
	key := client.ObjectKey{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
	if err := r.Client.Get(ctx, key, local, client.UnsafeDisableDeepCopy); err != nil {
		return "" // nobody points anywhere
	}
	return string(local.Spec.ClusterQueue)
}

// forgotten is the policy for what is left of Workloads that the hub does not have any more. Nobody knows what they were
// promised but by the stamps on what is left (mirror.Removal.Foreground).
func forgotten(p dispatch.Policy) dispatch.Policy { return under(p, switchyard.NeverLose) }

// hasPolicy tells whether a ClusterQueue, which may be nil, has a run policy of its own.
func hasPolicy(queue *kueue.ClusterQueue) bool {
	if queue == nil {
		return false
	}
	_, ok := queue.Annotations[switchyard.RunPolicyAnnotation]
	return ok
}

// under is a policy with the rules about lost clusters and hubs that a preset stands for.
func under(p dispatch.Policy, preset switchyard.RunPolicy) dispatch.Policy {
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
