package batchjob

import (
	"math"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// reasonAdapter is the reason of the condition that copyStatus makes up (contract: kueue-api.md 1.13, row Job).
const reasonAdapter = "MultiKueueAdapter"

// progress is what the status says, in the words that all kinds have in common.
func progress(j *batchv1.Job) job.Progress {
	return job.Progress{
		Active:      j.Status.Active > 0,
		Terminating: ptr.Deref(j.Status.Terminating, 0) > 0,
		Ready:       !ptr.Deref(j.Spec.Suspend, false) && succeededPods(j)+ptr.Deref(j.Status.Ready, 0) >= podCount(j),
		Reclaimable: reclaimable(j),
		Finished:    outcome(j),
	}
}

// succeededPods counts the pods that have succeeded, those not yet in status.succeeded included.
func succeededPods(j *batchv1.Job) int32 {
	n := j.Status.Succeeded
	if u := j.Status.UncountedTerminatedPods; u != nil {
		n += int32(len(u.Succeeded))
	}
	return n
}

// outcome is how the job ended; nil while it has not.
func outcome(j *batchv1.Job) *job.Outcome {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return &job.Outcome{Success: c.Type == batchv1.JobComplete, Message: c.Message}
		}
	}
	return nil
}

// reclaimable is the difference between the pods that were asked for and those there is still work for. Of an Indexed Job
// the indexes that failed for good are no work either.
func reclaimable(j *batchv1.Job) []kueue.ReclaimablePod {
	parallelism := ptr.Deref(j.Spec.Parallelism, 1)
	settled := j.Status.Succeeded
	if ptr.Deref(j.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion {
		settled = countIndexes(j.Status.CompletedIndexes) + countIndexes(ptr.Deref(j.Status.FailedIndexes, ""))
	}
	if parallelism <= 1 || settled == 0 {
		return nil
	}
	remaining := max(ptr.Deref(j.Spec.Completions, parallelism)-settled, 0)
	if free := podCount(j) - remaining; free > 0 {
		return []kueue.ReclaimablePod{{Name: podSetName, Count: free}}
	}
	return nil
}

// countIndexes counts the numbers in a list of the form "0,3-5,7". What is not of that form counts as nothing.
func countIndexes(list string) int32 {
	var n int64
	for item := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(item, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 32)
		last, err2 := strconv.ParseInt(to, 10, 32)
		if err == nil && err2 == nil && last >= first {
			n += last - first + 1
		}
	}
	return int32(min(n, math.MaxInt32/2)) // two of these add up
}

// copyStatus copies the whole status, except where the local Job cannot take it (contract: multikueue.md 6, batch/Job).
// While the local Job is suspended and the remote one is not, nothing is copied. A local Job that has run before then gets
// the condition Suspended, because only from there does the API server let its start time change; one that has not needs
// no write.
func copyStatus(local, remote *batchv1.Job) (changed, deferred bool) {
	before := local.Status.DeepCopy()
	if ptr.Deref(local.Spec.Suspend, false) && !ptr.Deref(remote.Spec.Suspend, false) && outcome(remote) == nil {
		if local.Status.StartTime != nil {
			markSuspended(local, remote)
		}
		return !equality.Semantic.DeepEqual(*before, local.Status), true
	}
	if outcome(local) != nil {
		return false, false
	}
	local.Status = isStatusAcceptable(local, remote)
	return !equality.Semantic.DeepEqual(*before, local.Status), false
}

// isStatusAcceptable is the remote status as far as the local API server lets it replace the local one. Counters never fall and a
// running Job's start time stays, also when the remote Job is a second one that started over on another cluster. Conditions
// that announce the end can never be taken back, so they are copied together with the end and not before.
func isStatusAcceptable(local, remote *batchv1.Job) batchv1.JobStatus {
	was, is := local.Status, *remote.Status.DeepCopy()
	is.Failed = max(is.Failed, was.Failed)
	is.Succeeded = max(is.Succeeded, was.Succeeded)
	resuming := hasCondition(local, batchv1.JobSuspended) && isFalse(remote, batchv1.JobSuspended)
	if was.StartTime != nil && !ptr.Deref(local.Spec.Suspend, false) && !resuming {
		is.StartTime = was.StartTime
	}
	if outcome(remote) == nil {
		kept := is.Conditions[:0]
		for _, c := range is.Conditions {
			if c.Type != batchv1.JobFailureTarget && c.Type != batchv1.JobSuccessCriteriaMet {
				kept = append(kept, c)
			}
		}
		is.Conditions = kept
	}
	return is
}

// markSuspended sets the condition Suspended on the hub's Job, which another cluster runs.
func markSuspended(local, remote *batchv1.Job) {
	mark := batchv1.JobCondition{
		Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, Reason: reasonAdapter,
		Message: "Suspended here while the copy on a worker cluster runs",
	}
	for i, c := range local.Status.Conditions {
		if c.Type != batchv1.JobSuspended {
			continue
		}
		if c.Status != corev1.ConditionTrue {
			mark.LastProbeTime, mark.LastTransitionTime = setTime(remote), setTime(remote)
			local.Status.Conditions[i] = mark
		}
		return
	}
	mark.LastProbeTime, mark.LastTransitionTime = setTime(remote), setTime(remote)
	local.Status.Conditions = append(local.Status.Conditions, mark)
}

// setTime is when the remote Job started to differ from the local one; a pure function has no other clock.
func setTime(remote *batchv1.Job) metav1.Time {
	return ptr.Deref(remote.Status.StartTime, remote.CreationTimestamp)
}

func hasCondition(j *batchv1.Job, t batchv1.JobConditionType) bool {
	return hasConditionStatus(j, t, corev1.ConditionTrue)
}

func isFalse(j *batchv1.Job, t batchv1.JobConditionType) bool {
	return hasConditionStatus(j, t, corev1.ConditionFalse)
}

func hasConditionStatus(j *batchv1.Job, t batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == t {
			return c.Status == status
		}
	}
	return false
}

func sameSpec(a, b *batchv1.Job) bool { return equality.Semantic.DeepEqual(a.Spec, b.Spec) }
