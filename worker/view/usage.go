package view

import (
	"time"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/podrequests"
	api "switchyard.dev/worker/workload"
)

// usageTracker keep the recent usage of LocalQueues (contract: kueue-api.md 4.14). They know the time of the last cycle only.
type usageTracker struct {
	*usage.Tracker
	// changedQueues are LocalQueues that are new or have changed since the last cycle.
	changedQueues map[admission.Key]bool
}

func newUsageTracker(o *usage.Options) *usageTracker {
	if o == nil {
		return nil
	}
	return &usageTracker{Tracker: usage.NewTracker(*o), changedQueues: map[admission.Key]bool{}}
}

// storedUsage reads from the status what a former leader knew.
func storedUsage(lq *kueue.LocalQueue) usage.LocalQueueUsage {
	if lq.Status.FairSharing == nil || lq.Status.FairSharing.AdmissionFairSharingStatus == nil {
		return usage.LocalQueueUsage{}
	}
	was := lq.Status.FairSharing.AdmissionFairSharingStatus
	account := usage.LocalQueueUsage{SampledAt: was.LastUpdate.Time}
	for name, q := range was.ConsumedResources {
		account.Consumed = append(account.Consumed, usage.Consumed{Resource: string(name), Milli: podrequests.ToThousandths(q)})
	}
	return account
}

// fairSharingWeight is the weight that is set, or 1. The webhook refuses negative ones; those count as 0.
func fairSharingWeight(f *kueue.FairSharing) quota.Weight {
	if f == nil || f.Weight == nil {
		return quota.Weight{}
	}
	return quota.NewWeight(podrequests.ToBillionths(*f.Weight))
}

// updateUsage notes what the workload's state means for the usage of its LocalQueue: a penalty from the assumption until the
// admission, which makes it part of what was consumed.
func (s *snapshotWriter) updateUsage(w *workload) {
	if s.usageTracker == nil {
		return
	}
	r, holds := s.snap.Reservation(w.key())
	switch {
	case api.IsAdmitted(w.obj):
		s.usageTracker.ConsumePenalty(w.key())
	case holds:
		s.usageTracker.AddPenalty(w.key(), keyOf(r.Namespace, r.LocalQueue), admission.ResourceTotals(r.Usage))
	default:
		s.usageTracker.RemovePenalty(w.key())
	}
}

func (s *snapshotWriter) trackUsage(local admission.Key) {
	if s.usageTracker != nil {
		s.usageTracker.changedQueues[local] = true
		s.requestCycle()
	}
}

func (s *snapshotWriter) untrackUsage(local admission.Key) {
	if s.usageTracker != nil {
		delete(s.usageTracker.changedQueues, local)
		s.usageTracker.RemoveLocalQueue(local)
		s.snap.SetLocalUsage(local, 0)
	}
}

// sampleUsage brings the usage up to the time and tells the snapshot what changed. It returns when to do so again; the zero
// time when never.
func (s *snapshotWriter) sampleUsage(now time.Time) time.Time {
	if s.usageTracker == nil {
		return time.Time{}
	}
	for local := range s.usageTracker.changedQueues {
		if lq := s.objects.localQueues[local]; lq != nil {
			s.usageTracker.AddLocalQueue(now, local, fairSharingWeight(lq.obj.Spec.FairSharing), storedUsage(lq.obj))
			s.broadcaster.notifyLocalQueue(local, notifyBatched)
			for _, w := range s.index.workloadsByLocalQueue[local] {
				s.updateUsage(w)
			}
		}
	}
	clear(s.usageTracker.changedQueues)
	for _, local := range s.usageTracker.Sample(now, s.snap.LocalQueueAdmittedUsage) {
		if account, _ := s.usageTracker.LocalQueueUsage(local); account.HasConsumed() {
			s.broadcaster.notifyLocalQueue(local, notifyBatched) // The time of the sample is in the status.
		}
	}
	for _, f := range s.usageTracker.TakeChanges() {
		s.snap.SetLocalUsage(f.LocalQueue, f.Usage)
		s.broadcaster.notifyLocalQueue(f.LocalQueue, notifyBatched)
	}
	return s.usageTracker.NextSampleAt()
}
