package controller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
)

func batchJobKind(t *testing.T) job.Integration {
	t.Helper()
	for _, k := range all.Kinds() {
		if k.GVK().Kind == "Job" {
			return k
		}
	}
	t.Fatal("no kind Job")
	return nil
}

// newJobWithStatus is a Job of two pods that are active and ready, or that has ended.
func newJobWithStatus(active, ready int32, ended bool) *batchv1.Job {
	j := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](2), Suspend: ptr.To(false)}}
	j.Status = batchv1.JobStatus{Active: active, Ready: ptr.To(ready)}
	if ended {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
	return j
}

func TestWhenTheStatusOfARunningJobIsCopied(t *testing.T) {
	ready := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name        string
		here, there *batchv1.Job
		now, last   int // seconds after the check became Ready; last is negative for never
		evicted     bool
		notReady    bool
		later       bool
	}{
		{name: "a job without pods has nothing to tell at first", here: newJobWithStatus(0, 0, false), there: newJobWithStatus(0, 0, false), now: 1, last: -1, later: true},
		{name: "pods may become ready meanwhile", here: newJobWithStatus(0, 0, false), there: newJobWithStatus(2, 1, false), now: 1, last: -1, later: true},
		{name: "all pods being ready is told at once", here: newJobWithStatus(0, 0, false), there: newJobWithStatus(2, 2, false), now: 1, last: -1},
		{name: "so is the end", here: newJobWithStatus(2, 2, false), there: newJobWithStatus(0, 0, true), now: 11, last: 10},
		{name: "slow pods are told of after a while", here: newJobWithStatus(0, 0, false), there: newJobWithStatus(2, 0, false), now: 3, last: -1},
		{name: "counts wait for their turn", here: newJobWithStatus(2, 0, false), there: newJobWithStatus(2, 1, false), now: 12, last: 10, later: true},
		{name: "and have it", here: newJobWithStatus(2, 0, false), there: newJobWithStatus(2, 1, false), now: 13, last: 10},
		{name: "pods that are lost wait too", here: newJobWithStatus(2, 2, false), there: newJobWithStatus(2, 1, false), now: 12, last: 10, later: true},
		{name: "nothing waits while the hub evicts", here: newJobWithStatus(2, 2, false), there: newJobWithStatus(1, 1, false), now: 12, last: 11, evicted: true},
		{name: "nor in a retreat", here: newJobWithStatus(2, 2, false), there: newJobWithStatus(1, 1, false), now: 12, last: 11, notReady: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &workloadScope{readyAt: ready, original: mirror.Original{Kind: batchJobKind(t), Job: c.here, Workload: &kueue.Workload{}}}
			s.observed = dispatch.Observation{Now: ready.Add(time.Duration(c.now) * time.Second), Local: dispatch.Local{Quota: dispatch.LocalQuota{Evicted: c.evicted}}}
			if c.notReady {
				s.readyAt = time.Time{}
			}
			r := NewWorkloadReconciler(&WorkloadReconciler{})
			if c.last >= 0 {
				copied := ready.Add(time.Duration(c.last) * time.Second)
				r.tracker.do(func(t *tracker.Tracker) { t.StatusCopied(trackedWorkload(s.original), copied) })
			}
			if later := s.observed.Now.Before(r.statuses.statusDueAt(s, c.there)); later != c.later {
				t.Errorf("due %s at %s", r.statuses.statusDueAt(s, c.there), s.observed.Now)
			}
		})
	}
}
