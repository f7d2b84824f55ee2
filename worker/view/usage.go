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

// updateUsage notes what the workload's state means for the usage of its LocalQueue: a penalty from the assumption until the
// admission, which makes it part of what was consumed.
func (v *View) updateUsage(w *workload) {
	if v.usageTracker == nil {
		return
	}
	r, holds := v.snap.Reservation(w.key())
	switch {
	case api.IsAdmitted(w.obj):
		v.usageTracker.ConsumePenalty(w.key())
	case holds:
		v.usageTracker.AddPenalty(w.key(), keyOf(r.Namespace, r.LocalQueue), admission.ResourceTotals(r.Usage))
	default:
		v.usageTracker.RemovePenalty(w.key())
	}
}

func (v *View) trackUsage(local admission.Key) {
	if v.usageTracker != nil {
		v.usageTracker.changedQueues[local] = true
		v.requestCycle()
	}
}

func (v *View) untrackUsage(local admission.Key) {
	if v.usageTracker != nil {
		delete(v.usageTracker.changedQueues, local)
		v.usageTracker.RemoveLocalQueue(local)
		v.snap.SetLocalUsage(local, 0)
	}
}

// sampleUsage brings the usage up to the time and tells the snapshot what changed. It returns when to do so again; the zero
// time when never.
func (v *View) sampleUsage(now time.Time) time.Time {
	if v.usageTracker == nil {
		return time.Time{}
	}
	for local := range v.usageTracker.changedQueues {
		if lq := v.localQueues[local]; lq != nil {
			v.usageTracker.AddLocalQueue(now, local, fairSharingWeight(lq.obj.Spec.FairSharing), storedUsage(lq.obj))
			v.notifyLocalQueue(local, notifyBatched)
			for _, w := range v.workloadsByLocalQueue[local] {
				v.updateUsage(w)
			}
		}
	}
	clear(v.usageTracker.changedQueues)
	for _, local := range v.usageTracker.Sample(now, v.snap.LocalQueueAdmittedUsage) {
		if account, _ := v.usageTracker.LocalQueueUsage(local); account.HasConsumed() {
			v.notifyLocalQueue(local, notifyBatched) // The time of the sample is in the status.
		}
	}
	for _, f := range v.usageTracker.TakeChanges() {
		v.snap.SetLocalUsage(f.LocalQueue, f.Usage)
		v.notifyLocalQueue(f.LocalQueue, notifyBatched)
	}
	return v.usageTracker.NextSampleAt()
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
