package controller

import (
	"context"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/runpolicy"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

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

// resolvePolicy settles what the administrators of the fleet and of the queue want for a Workload.
func (r *WorkloadReconciler) resolvePolicy(ctx context.Context, s *workloadScope, config *kueue.MultiKueueConfig) {
	var queue *kueue.ClusterQueue
	if name := r.index.lookupClusterQueue(ctx, s.original.Workload); name != "" {
		found := &kueue.ClusterQueue{}
		if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, found, client.UnsafeDisableDeepCopy); err == nil {
			queue = found
		}
	}
	policy, err := runpolicy.Effective(config, queue)
	if err != nil || config == nil && !runpolicy.IsSet(queue) {
		policy = switchyard.NeverLose // what was meant is not known: run nothing twice and stop nothing until it is
	}
	s.policy = runpolicy.Apply(r.Policy, policy)
	if kind := s.original.Kind; kind != nil && job.IsServing(kind) {
		s.policy.RetainFinished = 0 // it never ends: what runs of it while its Workload is over is not wanted
	}
	if s.original.Job != nil {
		s.preferredClusters = cluster.ListPreferred(s.original.Job)
	}
	if s.preferredClusters == nil && queue != nil {
		s.preferredClusters = cluster.ListPreferred(queue)
	}
}
