package assign

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// resourceRequest is how much a unit asks for of a resource that the flavor table has.
type resourceRequest struct {
	resource string
	amount   amount.Amount
	column   admission.ResourceIndex
}

// sumRequests adds up what the unit asks for, pods included if the queue counts them, and notes resources that the queue does
// not have.
func (a *assignState) sumRequests(unit []int, failed *failure) []resourceRequest {
	wants := a.requests[:0]
	for _, i := range unit {
		podSet := &a.workload.PodSets[i]
		for _, r := range podSet.Requests {
			wants = a.addRequest(wants, r.Resource, r.Amount.Times(int64(podSet.Count)), failed)
		}
		if _, counted := a.flavorTable.FindResource(amount.Pods); counted {
			wants = a.addRequest(wants, amount.Pods, amount.Amount(podSet.Count), failed)
		}
	}
	a.requests = wants
	return wants
}

// addRequest adds an amount of a resource to the requests. A resource that no group covers fails the pod set, unless
// undeclared resources are ignored.
func (a *assignState) addRequest(wants []resourceRequest, resource string, v amount.Amount, failed *failure) []resourceRequest {
	column, covered := a.flavorTable.FindResource(resource)
	if !covered {
		if v > 0 && !a.opts.IgnoreUndeclared {
			failed.addRequired(admission.NoMatchingFlavor, failureDetail{text: "resource " + resource + " unavailable in ClusterQueue"})
		}
		return wants
	}
	for i := range wants {
		if wants[i].resource == resource {
			wants[i].amount = wants[i].amount.Add(v)
			return wants
		}
	}
	return append(wants, resourceRequest{resource: resource, amount: v, column: column})
}
