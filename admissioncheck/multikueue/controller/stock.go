package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/placement"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/view"
)

// stock is what can be told of a cluster from the outside, by its ClusterQueues and LocalQueues: quota less reservations.
// What a cohort would lend is not known, and taken to be nothing beyond the queue's own quota when it has no cohort, and
// everything that its borrowing limit allows when it has one: too much hope costs an offer that waits, too little would keep
// a workload from the only cluster with room. Flavors' labels and taints are not known.
func stock(queues, locals []client.Object) *placement.Capacity {
	c := &placement.Capacity{FlavorsUnknown: true, IgnoresUncovered: true}
	for _, obj := range queues {
		if cq, ok := obj.(*kueue.ClusterQueue); ok {
			c.Queues = append(c.Queues, stockQueue(cq))
		}
	}
	for _, obj := range locals {
		if lq, ok := obj.(*kueue.LocalQueue); ok {
			c.Locals = append(c.Locals, placement.LocalQueue{
				Key: admission.Key{Namespace: lq.Namespace, Name: lq.Name}, Queue: string(lq.Spec.ClusterQueue),
				Closed: closed(lq.Status.Conditions, kueue.LocalQueueActive),
			})
		}
	}
	sortCapacity(c)
	return c
}

// closed is the message of a condition that is False.
func closed(conditions []metav1.Condition, active string) string {
	c := meta.FindStatusCondition(conditions, active)
	switch {
	case c == nil || c.Status != metav1.ConditionFalse:
		return ""
	case c.Message == "":
		return "it is not active"
	}
	return c.Message
}

func stockQueue(cq *kueue.ClusterQueue) placement.Queue {
	queue := placement.Queue{
		Name: cq.Name, Closed: closed(cq.Status.Conditions, kueue.ClusterQueueActive),
		Strict: cq.Spec.QueueingStrategy == kueue.StrictFIFO,
	}
	if waiting := int(cq.Status.PendingWorkloads); waiting > 0 {
		queue.Waiting = []placement.Waiting{{Count: waiting}}
	}
	for _, g := range cq.Spec.ResourceGroups {
		group := placement.Group{}
		for _, name := range g.CoveredResources {
			group.Resources = append(group.Resources, string(name))
		}
		for i := range g.Flavors {
			group.Flavors = append(group.Flavors, stockRoom(cq, &g.Flavors[i], group.Resources))
		}
		queue.Groups = append(queue.Groups, group)
	}
	return queue
}

func stockRoom(cq *kueue.ClusterQueue, f *kueue.FlavorQuotas, resources []string) placement.Room {
	room := placement.Room{Flavor: string(f.Name)}
	for _, name := range resources {
		var nominal, limit amount.Amount
		for _, q := range f.Resources {
			if string(q.Name) == name {
				nominal = view.AmountOf(name, q.NominalQuota)
				limit = nominal
				if cq.Spec.CohortName != "" {
					limit = borrowable(name, nominal, q.BorrowingLimit)
				}
			}
		}
		used := reserved(cq, f.Name, name)
		room.Own = append(room.Own, nominal.Sub(used).AtLeast(0))
		room.Free = append(room.Free, limit.Sub(used).AtLeast(0))
		room.Largest = append(room.Largest, limit)
	}
	return room
}

// borrowable is the most that a queue with a cohort may use.
func borrowable(name string, nominal amount.Amount, limit *resource.Quantity) amount.Amount {
	if limit == nil {
		return amount.Unlimited
	}
	return nominal.Add(view.AmountOf(name, *limit))
}

// reserved is what the Workloads with quota take of one flavor.
func reserved(cq *kueue.ClusterQueue, flavor kueue.ResourceFlavorReference, name string) amount.Amount {
	for _, use := range cq.Status.FlavorsReservation {
		if use.Name != flavor {
			continue
		}
		for _, r := range use.Resources {
			if string(r.Name) == name {
				return view.AmountOf(name, r.Total)
			}
		}
	}
	return 0
}

// keyIn splits "namespace/name".
func keyIn(text string) admission.Key {
	namespace, name, _ := strings.Cut(text, "/")
	return admission.Key{Namespace: namespace, Name: name}
}

func compare(a, b string) int { return strings.Compare(a, b) }
