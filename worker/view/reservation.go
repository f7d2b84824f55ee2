package view

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/podrequests"
	api "switchyard.dev/worker/workload"
)

// conditionSince is when the condition became what it is; the zero time when it is not there.
func conditionSince(wl *kueue.Workload, condition string) time.Time {
	if c := meta.FindStatusCondition(wl.Status.Conditions, condition); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// arePodsReady tells whether the pods are ready. What PodsReady says counts only if it was said in this admission (contract:
// kueue-api.md 4.15).
func arePodsReady(wl *kueue.Workload) bool {
	return api.IsAdmitted(wl) && meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadPodsReady) &&
		!conditionSince(wl, kueue.WorkloadPodsReady).Before(conditionSince(wl, kueue.WorkloadAdmitted))
}

// reservedUsage adds up the assignments, without the pods that are no longer needed: every pod of a set has the same share of
// its usage (contract: kueue-api.md 1.15, 4.16).
func (o Options) reservedUsage(wl *kueue.Workload) admission.Usage {
	var uses []quota.Use
	for i := range wl.Status.Admission.PodSetAssignments {
		psa := &wl.Status.Admission.PodSetAssignments[i]
		assigned, needed := o.podCounts(wl, psa)
		for name, flavor := range psa.Flavors {
			total := podrequests.ToAmount(string(name), psa.ResourceUsage[name]).AtLeast(0) // Whoever wrote less must not make room for it.
			uses = append(uses, quota.Use{
				FlavorResource: quota.FlavorResource{Flavor: string(flavor), Resource: string(name)},
				Amount:         proportionalShare(total, assigned, needed),
			})
		}
	}
	return quota.NewUsage(uses...)
}

// podCounts returns how many pods the assignment was made for and how many of them still need quota. An elastic job that has been made smaller
// needs it for all of them until the assignment says less: some of its pods may still be on their way out.
func (o Options) podCounts(wl *kueue.Workload, psa *kueue.PodSetAssignment) (assigned, needed int64) {
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		if ps.Name != psa.Name {
			continue
		}
		assigned = int64(ptr.Deref(psa.Count, ps.Count))
		asked := int64(ps.Count)
		if o.ElasticJobs && api.IsElastic(wl) {
			asked = max(asked, assigned)
		}
		return assigned, max(min(assigned, asked-int64(o.reclaimablePods(wl, ps.Name))), 0)
	}
	return 1, 1
}

// proportionalShare is needed/assigned of the total, rounded up.
func proportionalShare(total amount.Amount, assigned, needed int64) amount.Amount {
	if assigned <= 0 || needed >= assigned {
		return total
	}
	each, rest := total/amount.Amount(assigned), total%amount.Amount(assigned)
	if rest > 0 {
		each++
	}
	return each.Times(needed)
}

// BuildAdmission writes an assignment of the core as the API has it.
func BuildAdmission(queue string, a *admission.Assignment) *kueue.Admission {
	out := &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(queue)}
	for _, ps := range a.PodSets {
		out.PodSetAssignments = append(out.PodSetAssignments, convertPodSetAssignment(ps))
	}
	return out
}

func convertPodSetAssignment(ps admission.PodSetAssignment) kueue.PodSetAssignment {
	flavors := make(map[corev1.ResourceName]kueue.ResourceFlavorReference, len(ps.Flavors))
	for _, f := range ps.Flavors {
		flavors[corev1.ResourceName(f.Resource)] = kueue.ResourceFlavorReference(f.Flavor)
	}
	return kueue.PodSetAssignment{
		Name: kueue.PodSetReference(ps.Name), Flavors: flavors, ResourceUsage: podrequests.ToResourceList(ps.Usage), Count: ptr.To(ps.Count),
	}
}

// buildReservation reads what the workload holds from its status.
func (s *snapshotWriter) buildReservation(wl *kueue.Workload) admission.Reservation {
	return admission.Reservation{
		Key:        keyOf(wl.Namespace, wl.Name),
		LocalQueue: string(wl.Spec.QueueName),
		Queue:      string(wl.Status.Admission.ClusterQueue),
		Usage:      s.opts.reservedUsage(wl),
		UID:        string(wl.UID),
		Priority:   api.Priority(wl, s.opts.PriorityBoost),
		QueuedAt:   s.queuedAt(wl),
		ReservedAt: conditionSince(wl, kueue.WorkloadQuotaReserved),
		Evicted:    api.IsEvicted(wl),
		Admitted:   api.IsAdmitted(wl),
		PodsReady:  arePodsReady(wl),
	}
}
