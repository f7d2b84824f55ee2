package assign

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// want is how much a unit asks for of a resource that the menu has.
type want struct {
	resource string
	amount   amount.Amount
	column   admission.Column
}

// demand adds up what the unit asks for, pods included if the queue counts them, and notes resources that the queue does
// not have.
func (a *attempt) demand(unit []int, failed *failure) []want {
	wants := a.wants[:0]
	for _, i := range unit {
		podSet := &a.workload.PodSets[i]
		for _, r := range podSet.Requests {
			wants = a.add(wants, r.Resource, r.Amount.Times(int64(podSet.Count)), failed)
		}
		if _, counted := a.menu.Find(amount.Pods); counted {
			wants = a.add(wants, amount.Pods, amount.Amount(podSet.Count), failed)
		}
	}
	a.wants = wants
	return wants
}

func (a *attempt) add(wants []want, resource string, v amount.Amount, failed *failure) []want {
	column, covered := a.menu.Find(resource)
	if !covered {
		if v > 0 && !a.opts.IgnoreUndeclared {
			failed.also(admission.NoMatchingFlavor, detail{text: "resource " + resource + " unavailable in ClusterQueue"})
		}
		return wants
	}
	for i := range wants {
		if wants[i].resource == resource {
			wants[i].amount = wants[i].amount.Add(v)
			return wants
		}
	}
	return append(wants, want{resource: resource, amount: v, column: column})
}
