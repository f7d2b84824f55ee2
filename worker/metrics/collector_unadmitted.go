package metrics

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// unadmittedReason is why a workload is not admitted: the reason of Admitted=False and, as the underlying cause, that of
// QuotaReserved=False.
type unadmittedReason struct {
	reason, cause string
}

// workloadCounts counts the workloads that have finished and are kept, and those that are not admitted by what keeps them.
type workloadCounts struct {
	finished               map[string]int
	finishedByLocalQueue   map[types.NamespacedName]int
	unadmitted             map[string]map[unadmittedReason]float64
	unadmittedByLocalQueue map[localQueueKey]map[unadmittedReason]float64
}

// localQueueKey is a LocalQueue and what is behind it.
type localQueueKey struct {
	localQueue   types.NamespacedName
	clusterQueue string
}

// countWorkloads counts finished and unadmitted workloads by queue, in one pass.
func countWorkloads(list []view.WorkloadInQueue) workloadCounts {
	n := workloadCounts{
		finished: map[string]int{}, finishedByLocalQueue: map[types.NamespacedName]int{},
		unadmitted: map[string]map[unadmittedReason]float64{}, unadmittedByLocalQueue: map[localQueueKey]map[unadmittedReason]float64{},
	}
	for _, in := range list {
		wl := in.Workload
		local := types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
		switch {
		case workload.IsFinished(wl):
			n.finishedByLocalQueue[local]++
			if wl.Status.Admission != nil {
				n.finished[in.Queue]++
			}
		case !workload.IsAdmitted(wl) && !in.QueueInactive && wl.DeletionTimestamp.IsZero():
			because := unadmittedReasonOf(wl)
			countReason(n.unadmittedByLocalQueue, localQueueKey{local, in.Queue}, because)
			countReason(n.unadmitted, in.Queue, because)
		}
	}
	return n
}

// sendUnadmitted sends how many workloads are not admitted, by reason.
func (s scrape) sendUnadmitted() {
	c, l := s.clusterGauges().unadmitted, s.localGauges().unadmitted
	for name, counts := range s.workloadCounts.unadmitted {
		for o, n := range counts {
			s.send(c, n, name, o.reason, o.cause)
		}
	}
	for d, counts := range s.workloadCounts.unadmittedByLocalQueue {
		if s.opts.LocalQueues == nil || !s.opts.LocalQueues(d.localQueue) {
			continue
		}
		for o, n := range counts {
			s.send(l, n, d.localQueue.Name, d.localQueue.Namespace, d.clusterQueue, o.reason, o.cause)
		}
	}
}

func countReason[K comparable](counts map[K]map[unadmittedReason]float64, k K, o unadmittedReason) {
	if counts[k] == nil {
		counts[k] = map[unadmittedReason]float64{}
	}
	counts[k][o]++
}

// unadmittedReasonOf tells why a workload is not admitted, in the words of its conditions (contract: messages.md 6.1).
func unadmittedReasonOf(wl *kueue.Workload) unadmittedReason {
	o := unadmittedReason{reason: falseReason(wl, kueue.WorkloadAdmitted), cause: falseReason(wl, kueue.WorkloadQuotaReserved)}
	if o.reason == "" {
		o.reason = string(kueue.ReasonNoReservation)
	}
	if meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved) == nil {
		o.cause = string(kueue.ReasonPendingEvaluation)
	}
	return o
}

// falseReason is the reason of a condition that is false; empty when it is not, or is not there.
func falseReason(wl *kueue.Workload, condition string) string {
	if c := meta.FindStatusCondition(wl.Status.Conditions, condition); c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason
	}
	return ""
}
