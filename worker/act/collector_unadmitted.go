package act

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// obstacle is why a workload is not admitted: the reason of Admitted=False and, as the underlying cause when it has no quota,
// that of QuotaReserved=False.
type obstacle struct {
	reason, cause string
}

// unadmitted counts the workloads of each queue by what keeps them.
func (s scrape) unadmitted() {
	type behind struct {
		local types.NamespacedName
		queue string
	}
	queues, locals := map[string]map[obstacle]float64{}, map[behind]map[obstacle]float64{}
	for _, in := range s.view.Unadmitted() {
		wl, because := in.Workload, obstacleOf(in.Workload)
		if in.Queue != "" {
			tally(queues, in.Queue, because)
		}
		tally(locals, behind{types.NamespacedName{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}, in.Queue}, because)
	}
	c, l := clusterGauges().unadmitted, localGauges().unadmitted
	for name, counts := range queues {
		for o, n := range counts {
			s.send(c, n, name, o.reason, o.cause)
		}
	}
	for b, counts := range locals {
		if s.opts.LocalQueues == nil || !s.opts.LocalQueues(b.local) {
			continue
		}
		for o, n := range counts {
			s.send(l, n, b.local.Name, b.local.Namespace, b.queue, o.reason, o.cause)
		}
	}
}

func tally[K comparable](counts map[K]map[obstacle]float64, k K, o obstacle) {
	if counts[k] == nil {
		counts[k] = map[obstacle]float64{}
	}
	counts[k][o]++
}

func obstacleOf(wl *kueue.Workload) obstacle {
	o := obstacle{reason: whyNot(wl, kueue.WorkloadAdmitted)}
	if workload.HasQuota(wl) {
		if o.reason == "" {
			o.reason = string(kueue.ReasonUnsatisfiedAdmissionChecks)
		}
		return o
	}
	o.reason = string(kueue.ReasonNoReservation)
	if o.cause = whyNot(wl, kueue.WorkloadQuotaReserved); o.cause == "" {
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
