package view

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// A cycle reports a reason only for workloads that it looks at. In a StrictFIFO queue that is the head only. So an earlier
// reason of a workload behind it (that the queue was stopped, that it lacked quota when it was the head itself) would stay
// although it is not true any more. The same holds for a workload in a backoff. Such workloads are reported as not evaluated:
// once, and only if they had another reason.

// staleReports are the workloads whose reported reason may be out of date.
type staleReports struct {
	objects *objectIndex
	index   *workloadIndex
	snap    *admission.Snapshot

	// cycles counts them.
	cycles uint64
	// workloads are the workloads that have changed since the last complete cycle.
	workloads []*workload
	// strictQueues are the StrictFIFO queues that have changed since then.
	strictQueues map[string]bool
	// reportedHeads are those that were told last as the head of their StrictFIFO queue.
	reportedHeads map[string]*workload
}

func newStaleReports(objects *objectIndex, index *workloadIndex, snap *admission.Snapshot) *staleReports {
	return &staleReports{
		objects: objects, index: index, snap: snap, strictQueues: map[string]bool{}, reportedHeads: map[string]*workload{},
	}
}

// hasStaleReport tells whether the workload waits and was told something that need not be true any more.
func (w *workload) hasStaleReport() bool {
	return w.entry.pending != nil && w.assumed == nil && w.reportedReason != "" && w.reportedReason != admission.PendingEvaluation
}

// pendingReason is why the API says that the workload waits; empty if it does not say.
func pendingReason(wl *kueue.Workload) admission.Reason {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil {
		return admission.Reason(c.Reason)
	}
	return ""
}

func (w *workload) isBypassed() bool {
	return w.entry.pending != nil && w.entry.pending.Blocked != nil && w.entry.pending.Blocked.LetsOthersPass
}

// recordReport takes in a decision to wait. If another took its place at the head of the queue before, that one has something to hear.
func (s *staleReports) recordReport(w *workload, d admission.Decision) {
	w.reportedReason, w.reportedInCycle = d.Reason, s.cycles
	if !s.isStrictFIFO(d.Queue) || w.isBypassed() {
		return
	}
	if was := s.reportedHeads[d.Queue]; was != nil && was != w {
		s.workloads = append(s.workloads, was)
	}
	s.reportedHeads[d.Queue] = w
}

// isStrictFIFO tells whether the head of the queue holds up those behind it.
func (s *staleReports) isStrictFIFO(queue string) bool {
	cq := s.objects.clusterQueues[queue]
	return cq != nil && cq.obj.Spec.QueueingStrategy == kueue.StrictFIFO && s.snap.QueueBlock(queue) == nil
}

// updateStaleReports returns the workloads that, after a complete cycle, have to be reported as not evaluated.
func (s *staleReports) updateStaleReports(now time.Time) []WorkloadDecision {
	var told []WorkloadDecision
	for _, w := range s.workloads {
		if d, stale := s.updateStaleReport(w, now); stale {
			told = append(told, d)
		}
	}
	for queue := range s.strictQueues {
		for local := range s.objects.localQueuesByClusterQueue[queue] {
			for _, w := range s.index.workloadsByLocalQueue[local] {
				if d, stale := s.updateStaleReport(w, now); stale {
					told = append(told, d)
				}
			}
		}
	}
	s.workloads = nil
	clear(s.strictQueues)
	return told
}

// updateStaleReport returns the report that the workload was not evaluated; false if its last reason may still be true.
func (s *staleReports) updateStaleReport(w *workload, now time.Time) (WorkloadDecision, bool) {
	if !w.hasStaleReport() || w.reportedInCycle == s.cycles || s.index.workloads[w.key()] != w {
		return WorkloadDecision{}, false
	}
	waiting := w.entry.pending
	message := "Waits behind others in ClusterQueue " + waiting.Queue
	switch {
	case waiting.NotBefore.After(now):
		message = "Waits until " + waiting.NotBefore.UTC().Format(time.RFC3339)
	case !s.isStrictFIFO(waiting.Queue) || s.reportedHeads[waiting.Queue] == w || w.isBypassed():
		return WorkloadDecision{}, false
	}
	w.reportedReason = admission.PendingEvaluation
	// The core remembers which members have the reason of their class: as a new member, the workload will get it again.
	s.snap.Remove(w.key())
	s.snap.Push(*waiting)
	return WorkloadDecision{
		Object: w.obj, PodSets: waiting.PodSets, Stale: true,
		Decision: admission.Decision{
			Workload: w.key(), LocalQueue: waiting.LocalQueue, Queue: waiting.Queue,
			Outcome: admission.Wait, Reason: admission.PendingEvaluation, Message: message,
		},
	}, true
}
