package job

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/fence"
)

// maxGracePeriod bounds what a pod may ask for, in seconds: 68 years.
const maxGracePeriod = math.MaxInt32

// IsLocal implements Integration.
func (i integration[T]) IsLocal(obj client.Object) bool {
	manager := jobManager(&i.kind, i.asJob(obj))
	return manager == "" || manager == i.kind.ManagedBy.Default
}

// LastControllerUpdate implements Integration.
func (i integration[T]) LastControllerUpdate(obj client.Object) time.Time {
	if i.kind.LastControllerUpdate == nil || !i.IsLocal(obj) {
		return time.Time{}
	}
	return i.kind.LastControllerUpdate(i.asJob(obj))
}

// ExpectedReaction implements Integration. It may be called for every change of every job.
func (i integration[T]) ExpectedReaction(obj client.Object) (fence.Reaction, time.Duration) {
	awaited := i.expectedReaction(i.asJob(obj))
	if awaited == "" {
		return "", 0
	}
	sets, err := i.kind.PodSetsOf(i.asJob(obj), nil)
	if err != nil { // it cannot be admitted either
		return awaited, TerminationGracePeriod(nil)
	}
	return awaited, TerminationGracePeriod(sets)
}

// expectedReaction returns what the job's controller has to do next; empty if nothing.
func (i integration[T]) expectedReaction(job T) fence.Reaction {
	progress := i.kind.Progress(job)
	switch {
	case !i.IsLocal(job):
		return ""
	case !job.GetDeletionTimestamp().IsZero():
		return i.expectedRemoval(job, progress)
	case progress.Finished != nil:
		return ""
	case i.kind.Suspended(job) && progress.Active:
		return fence.PodsTold
	case i.kind.Suspended(job) && progress.Terminating:
		return fence.PodsEnd
	case i.kind.ControllerObserved != nil && !i.kind.ControllerObserved(job):
		return fence.ControllerObserves
	}
	return ""
}

// expectedRemoval is about a job that is being deleted. Its pods end before it does only if it is deleted in the foreground;
// otherwise its finalizers keep its pods as well. A job whose children have the pods leaves them to these: its status is no longer kept.
func (i integration[T]) expectedRemoval(job T, progress Progress) fence.Reaction {
	foreground := slices.Contains(job.GetFinalizers(), metav1.FinalizerDeleteDependents)
	ownPods := i.kind.Children == nil || i.kind.Children.HoldsPods == nil
	if ownPods && foreground && progress.HoldsPods() {
		return fence.PodsEnd
	}
	return ""
}

// TerminationGracePeriod is how long pods of the sets may take to end: the longest termination grace among them. Kubernetes takes a negative one for
// a second.
func TerminationGracePeriod(sets []kueue.PodSet) time.Duration {
	var longest int64
	for i := range sets {
		grace := ptr.Deref(sets[i].Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
		longest = max(longest, min(grace, maxGracePeriod), 1)
	}
	if len(sets) == 0 {
		longest = corev1.DefaultTerminationGracePeriodSeconds
	}
	return time.Duration(longest) * time.Second
}
