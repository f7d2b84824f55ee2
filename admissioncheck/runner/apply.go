package runner

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// applyResults writes the answers into their entries, with what follows from them, in one apply; nothing if they change nothing.
// It returns the events that the write has made true.
func (r *WorkloadReconciler[O]) applyResults(ctx context.Context, s *workloadScope, steps []checkUpdate) ([]kube.Event, error) {
	next := s.workload.DeepCopy()
	var told []kube.Event
	for _, step := range steps {
		told = append(told, step.applyTo(next, s.now)...)
	}
	if equality.Semantic.DeepEqual(next.Status, s.workload.Status) {
		return nil, nil
	}
	told = append(told, workload.DeriveConditions(next, s.now)...)
	if err := kube.ApplyAdmission(ctx, r.Client, next); err != nil {
		return nil, err
	}
	r.recentWrites.Record(next, next, s.now)
	return told, nil
}

// applyTo makes the entry say the answer, and returns what to tell about it.
func (s checkUpdate) applyTo(wl *kueue.Workload, now time.Time) []kube.Event {
	entry := workload.FindAdmissionCheck(wl, s.check)
	was := entry.State
	if s.result.State == kueue.CheckStatePending || was == s.result.State {
		return nil
	}
	workload.SetAdmissionCheck(wl, s.check, s.result.State, s.result.Message, now)
	entry.RequeueAfterSeconds, entry.PodSetUpdates = nil, nil
	switch s.result.State {
	case kueue.CheckStateRetry:
		entry.RequeueAfterSeconds = toWholeSeconds(s.result.RequeueAfter)
	case kueue.CheckStateReady:
		entry.PodSetUpdates = s.result.PodSetUpdates
	case kueue.CheckStatePending, kueue.CheckStateRejected:
	}
	return []kube.Event{{
		Reason: kueue.EventAdmissionCheckUpdated,
		Note:   fmt.Sprintf("Admission check %s updated state from %s to %s with message %s", s.check, was, entry.State, entry.Message),
	}}
}

// toWholeSeconds rounds up; nil for no delay.
func toWholeSeconds(d time.Duration) *int32 {
	whole := (max(d, 0) + time.Second - 1) / time.Second
	if whole == 0 {
		return nil
	}
	return ptr.To(int32(min(int64(whole), math.MaxInt32)))
}
