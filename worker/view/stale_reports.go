package view

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// A cycle speaks to those that it looks at. In a StrictFIFO queue that is the head only, so that what somebody behind it was
// told before (that the queue was stopped, that it lacked quota when it was the head itself) would stay although it is not
// true any more. The same holds for who waits for a backoff to end. They are told that they have not been evaluated: once,
// and only if they were told something else.

// staleReports is who may have to be told again.
type staleReports struct {
	// workloads are the workloads that have changed since the last complete cycle.
	workloads []*workload
	// strictQueues are the StrictFIFO queues that have changed since then.
	strictQueues map[string]bool
	// reportedHeads are those that were told last as the head of their StrictFIFO queue.
	reportedHeads map[string]*workload
}

func newStaleReports() staleReports {
	return staleReports{strictQueues: map[string]bool{}, reportedHeads: map[string]*workload{}}
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

// recordReport takes in a decision to wait. If another took its place at the head of the queue before, that one has something to hear.
func (v *View) recordReport(w *workload, d admission.Decision) {
	w.reportedReason, w.reportedInCycle = d.Reason, v.cycles
	if !v.isStrictFIFO(d.Queue) || w.isBypassed() {
		return
	}
	if was := v.staleReports.reportedHeads[d.Queue]; was != nil && was != w {
		v.staleReports.workloads = append(v.staleReports.workloads, was)
	}
	v.staleReports.reportedHeads[d.Queue] = w
}

func (w *workload) isBypassed() bool {
	return w.entry.pending != nil && w.entry.pending.Blocked != nil && w.entry.pending.Blocked.LetsOthersPass
}

// isStrictFIFO tells whether the head of the queue holds up those behind it.
func (v *View) isStrictFIFO(queue string) bool {
	cq := v.clusterQueues[queue]
	return cq != nil && cq.obj.Spec.QueueingStrategy == kueue.StrictFIFO && v.snap.QueueBlock(queue) == nil
}

// updateStaleReports returns those who have to be told, after a complete cycle, that they have not been evaluated.
func (v *View) updateStaleReports(now time.Time) []WorkloadDecision {
	var told []WorkloadDecision
	for _, w := range v.staleReports.workloads {
		if d, stale := v.updateStaleReport(w, now); stale {
			told = append(told, d)
		}
	}
	for queue := range v.staleReports.strictQueues {
		for local := range v.localQueuesByClusterQueue[queue] {
			for _, w := range v.workloadsByLocalQueue[local] {
				if d, stale := v.updateStaleReport(w, now); stale {
					told = append(told, d)
				}
			}
		}
	}
	v.staleReports.workloads = nil
	clear(v.staleReports.strictQueues)
	return told
}

func (v *View) updateStaleReport(w *workload, now time.Time) (WorkloadDecision, bool) {
	if !w.hasStaleReport() || w.reportedInCycle == v.cycles || v.workloads[w.key()] != w {
		return WorkloadDecision{}, false
	}
	waiting := w.entry.pending
	message := "Waits behind others in ClusterQueue " + waiting.Queue
	switch {
	case waiting.NotBefore.After(now):
		message = "Waits until " + waiting.NotBefore.UTC().Format(time.RFC3339)
	case !v.isStrictFIFO(waiting.Queue) || v.staleReports.reportedHeads[waiting.Queue] == w || w.isBypassed():
		return WorkloadDecision{}, false
	}
	w.reportedReason = admission.PendingEvaluation
	// The core remembers who knows what its kind was told: as somebody new, the workload will be told again.
	v.snap.Remove(w.key())
	v.snap.Push(*waiting)
	return WorkloadDecision{
		Object: w.obj, PodSets: waiting.PodSets, Stale: true,
		Decision: admission.Decision{
			Workload: w.key(), LocalQueue: waiting.LocalQueue, Queue: waiting.Queue,
			Outcome: admission.Wait, Reason: admission.PendingEvaluation, Message: message,
		},
	}, true
}
