package act

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/view"
	"switchyard.dev/worker/workload"
)

// obstacle is why a workload is not admitted: the reason of Admitted=False and, as the underlying cause, that of
// QuotaReserved=False.
type obstacle struct {
	reason, cause string
}

// inhabitants counts the workloads that have finished and are kept, and those that are not admitted by what keeps them.
type inhabitants struct {
	finished        map[string]int
	finishedLocal   map[types.NamespacedName]int
	unadmitted      map[string]map[obstacle]float64
	unadmittedLocal map[door]map[obstacle]float64
}

// door is a LocalQueue and what is behind it.
type door struct {
	local types.NamespacedName
	queue string
}

func countInhabitants(list []view.Inhabitant) inhabitants {
	n := inhabitants{
		finished: map[string]int{}, finishedLocal: map[types.NamespacedName]int{},
		unadmitted: map[string]map[obstacle]float64{}, unadmittedLocal: map[door]map[obstacle]float64{},
	}
	for _, in := range list {
		wl := in.Workload
		local := types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}
		switch {
		case workload.IsFinished(wl):
			n.finishedLocal[local]++
			if wl.Status.Admission != nil {
				n.finished[in.Queue]++
			}
		case !workload.IsAdmitted(wl) && !in.Closed && wl.DeletionTimestamp.IsZero():
			because := obstacleOf(wl)
			tally(n.unadmittedLocal, door{local, in.Queue}, because)
			tally(n.unadmitted, in.Queue, because)
		}
	}
	return n
}

func (s scrape) unadmitted() {
	c, l := s.clusterGauges().unadmitted, s.localGauges().unadmitted
	for name, counts := range s.people.unadmitted {
		for o, n := range counts {
			s.send(c, n, name, o.reason, o.cause)
		}
	}
	for d, counts := range s.people.unadmittedLocal {
		if s.opts.LocalQueues == nil || !s.opts.LocalQueues(d.local) {
			continue
		}
		for o, n := range counts {
			s.send(l, n, d.local.Name, d.local.Namespace, d.queue, o.reason, o.cause)
		}
	}
}

func tally[K comparable](counts map[K]map[obstacle]float64, k K, o obstacle) {
	if counts[k] == nil {
		counts[k] = map[obstacle]float64{}
	}
	counts[k][o]++
}

// obstacleOf tells why a workload is not admitted, in the words of its conditions (contract: messages.md 6.1).
func obstacleOf(wl *kueue.Workload) obstacle {
	o := obstacle{reason: whyNot(wl, kueue.WorkloadAdmitted), cause: whyNot(wl, kueue.WorkloadQuotaReserved)}
	if o.reason == "" {
		o.reason = string(kueue.ReasonNoReservation)
	}
	if meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved) == nil {
		o.cause = string(kueue.ReasonPendingEvaluation)
	}
	return o
}

// whyNot is the reason of a condition that is false; empty when it is not, or is not there.
func whyNot(wl *kueue.Workload, condition string) string {
	if c := meta.FindStatusCondition(wl.Status.Conditions, condition); c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason
	}
	return ""
}
