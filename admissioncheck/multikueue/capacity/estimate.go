package capacity

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/podrequests"
	"switchyard.dev/worker/view"
)

// estimate is what can be told of a cluster from the outside, by its ClusterQueues and LocalQueues: quota less reservations,
// and what cohorts lend as far as it can be seen (placement.QueuesFromObserved). Flavors' labels and taints are not known.
func estimate(queues, locals []client.Object) *placement.Capacity {
	c := &placement.Capacity{FlavorsUnknown: true, IgnoresUncovered: true, Queues: estimateQueues(queues)}
	for _, obj := range locals {
		if lq, ok := obj.(*kueue.LocalQueue); ok {
			c.Locals = append(c.Locals, placement.LocalQueue{
				Key: admission.Key{Namespace: lq.Namespace, Name: lq.Name}, Queue: string(lq.Spec.ClusterQueue),
				Closed: inactiveMessage(lq.Status.Conditions, kueue.LocalQueueActive),
			})
		}
	}
	sortCapacity(c)
	return c
}

// estimateQueues returns the ClusterQueues with what is left of their quota by their status. Pending workloads count with
// the highest priority.
func estimateQueues(queues []client.Object) []placement.Queue {
	var seen []placement.ObservedQueue
	var of []*kueue.ClusterQueue
	for _, obj := range queues {
		if cq, ok := obj.(*kueue.ClusterQueue); ok {
			of = append(of, cq)
			seen = append(seen, placement.ObservedQueue{
				Name: cq.Name, Cohort: string(cq.Spec.CohortName), Groups: view.ConvertResourceGroups(cq.Spec.ResourceGroups), Reserved: reservedUsage(cq),
			})
		}
	}
	list := placement.QueuesFromObserved(seen)
	for i, cq := range of {
		list[i].Closed = inactiveMessage(cq.Status.Conditions, kueue.ClusterQueueActive)
		list[i].Strict = cq.Spec.QueueingStrategy == kueue.StrictFIFO
		if waiting := int(cq.Status.PendingWorkloads); waiting > 0 {
			list[i].Waiting = []placement.PendingClass{{Priority: math.MaxInt32, Count: waiting}} // Nobody says of which priority.
		}
	}
	return list
}

// inactiveMessage is the message of a condition that is False.
func inactiveMessage(conditions []metav1.Condition, active string) string {
	c := meta.FindStatusCondition(conditions, active)
	switch {
	case c == nil || c.Status != metav1.ConditionFalse:
		return ""
	case c.Message == "":
		return "it is not active"
	}
	return c.Message
}

// reservedUsage is what the Workloads with quota hold.
func reservedUsage(cq *kueue.ClusterQueue) quota.Usage {
	var uses []quota.Use
	for _, flavor := range cq.Status.FlavorsReservation {
		for _, r := range flavor.Resources {
			name := quota.FlavorResource{Flavor: string(flavor.Name), Resource: string(r.Name)}
			uses = append(uses, quota.Use{FlavorResource: name, Amount: podrequests.ToAmount(name.Resource, r.Total)})
		}
	}
	return quota.MergeUses(uses)
}

// parseKey splits "namespace/name".
func parseKey(text string) admission.Key {
	namespace, name, _ := strings.Cut(text, "/")
	return admission.Key{Namespace: namespace, Name: name}
}

func compareNames(a, b string) int { return strings.Compare(a, b) }
